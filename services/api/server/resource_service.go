package server

import (
	"context"
	"encoding/json"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/internal/wire"
)

const resourceService = "orrery.api.v1.ResourceService"

// registerResourceService adds ResourceService. Requests are the generated messages; answers, {1 object: Body{1 content_type,
// 2 data}} for every method, are put together from encoded pieces.
func (s *Server) registerResourceService(g *grpc.Server) {
	desc := grpc.ServiceDesc{ServiceName: resourceService, HandlerType: (*any)(nil), Metadata: "orrery/api/v1/resource.proto"}
	add := func(name string, request func() any, serve grpc.UnaryHandler) {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: unaryMethod("/"+resourceService+"/"+name, request, serve)})
	}
	add("Get", func() any { return new(apiv1.ResourceServiceGetRequest) }, s.resourceGet)
	add("List", func() any { return new(apiv1.ResourceServiceListRequest) }, s.resourceList)
	add("Create", func() any { return new(apiv1.ResourceServiceCreateRequest) }, s.resourceCreate)
	add("Update", func() any { return new(apiv1.ResourceServiceUpdateRequest) }, s.resourceUpdate)
	add("Patch", func() any { return new(apiv1.ResourceServicePatchRequest) }, s.resourcePatch)
	add("Delete", func() any { return new(apiv1.ResourceServiceDeleteRequest) }, s.resourceDelete)
	add("DeleteCollection", func() any { return new(apiv1.ResourceServiceDeleteCollectionRequest) }, s.resourceDeleteCollection)
	add("Discover", func() any { return new(apiv1.ResourceServiceDiscoverRequest) }, s.resourceDiscover)
	desc.Streams = []grpc.StreamDesc{{StreamName: "Watch", ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
		q := new(apiv1.ResourceServiceWatchRequest)
		if err := stream.RecvMsg(q); err != nil {
			return malformed(err)
		}
		return s.resourceWatch(stream, q)
	}}}
	g.RegisterService(&desc, s)
}

func (s *Server) byRef(ref *apiv1.ResourceRef) (target, error) {
	gvr := schema.GroupVersionResource{Group: ref.GetGroup(), Version: ref.GetVersion(), Resource: ref.GetResource()}
	namespace := ref.GetNamespace()
	if res, ok := s.resources[gvr]; ok && !res.kind.Namespaced {
		namespace = ""
	}
	return s.resources.find(gvr, namespace, ref.GetName(), ref.GetSubresource())
}

// named is byRef for a single object.
func (s *Server) named(ref *apiv1.ResourceRef) (target, error) {
	t, err := s.byRef(ref)
	if err == nil && t.name == "" {
		err = errNameRequired
	}
	return t, err
}

// bodyMessage is {1 object: Body{1 content_type, 2 data}}.
func bodyMessage(a answer) *wire.Body {
	size := 0
	for _, p := range a.parts {
		size += len(p)
	}
	inner := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), a.contentType)
	inner = protowire.AppendVarint(protowire.AppendTag(inner, 2, protowire.BytesType), uint64(size))
	head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), uint64(len(inner)+size))
	return &wire.Body{Parts: append([][]byte{append(head, inner...)}, a.parts...)}
}

// options decodes options that travel as the meta/v1 type's own encoding.
func options(data []byte, into wire.Unmarshaler) error {
	if err := into.Unmarshal(data); err != nil {
		return apierrors.NewBadRequest("options could not be decoded: " + err.Error())
	}
	return nil
}

func (s *Server) resourceGet(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceGetRequest)
	t, err := s.named(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return nil, err
	}
	return message(t.get(ctx, metav1.GetOptions{ResourceVersion: q.GetResourceVersion()}, f))
}

func message(a answer, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return bodyMessage(a), nil
}

func (s *Server) resourceList(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceListRequest)
	t, err := s.byRef(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Collection)
	if err != nil {
		return nil, err
	}
	var o metav1.ListOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	a := answer{contentType: f.ContentType()}
	err = t.list(ctx, o, f, func(parts [][]byte) error {
		a.parts = append(a.parts, parts...)
		return nil
	})
	return message(a, err)
}

func (s *Server) resourceCreate(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceCreateRequest)
	t, err := s.byRef(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return nil, err
	}
	var o metav1.CreateOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	if err := negotiate.CheckCreateOptions(&o); err != nil {
		return nil, err
	}
	return message(t.create(ctx, s.decoder, payloadOf(q.GetObject()), o, f))
}

func payloadOf(b *apiv1.Body) payload { return payload{b.GetContentType(), b.GetData()} }

func (s *Server) resourceUpdate(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceUpdateRequest)
	t, err := s.named(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return nil, err
	}
	var o metav1.UpdateOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	if err := negotiate.CheckUpdateOptions(&o); err != nil {
		return nil, err
	}
	return message(t.update(ctx, s.decoder, payloadOf(q.GetObject()), o, f))
}

func (s *Server) resourcePatch(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServicePatchRequest)
	t, err := s.named(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return nil, err
	}
	kind, ok := patchTypes[q.GetPatch().GetContentType()]
	if !ok {
		return nil, unsupportedPatch()
	}
	var o metav1.PatchOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	if err := negotiate.CheckPatchOptions(&o, kind); err != nil {
		return nil, err
	}
	return message(t.patch(ctx, kind, q.GetPatch().GetData(), o, f))
}

func (s *Server) resourceDelete(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceDeleteRequest)
	t, err := s.named(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return nil, err
	}
	var o metav1.DeleteOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	if err := negotiate.CheckDeleteOptions(&o); err != nil {
		return nil, err
	}
	return message(t.delete(ctx, o, f))
}

func (s *Server) resourceDeleteCollection(ctx context.Context, request any) (any, error) {
	q := request.(*apiv1.ResourceServiceDeleteCollectionRequest)
	t, err := s.byRef(q.GetRef())
	if err != nil {
		return nil, err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Collection)
	if err != nil {
		return nil, err
	}
	var o metav1.DeleteOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return nil, err
	}
	if err := negotiate.CheckDeleteOptions(&o); err != nil {
		return nil, err
	}
	var list metav1.ListOptions
	if err := options(q.GetListOptions(), &list); err != nil {
		return nil, err
	}
	a := answer{contentType: f.ContentType()}
	err = t.deleteCollection(ctx, o, list, f, func(parts [][]byte) error {
		a.parts = append(a.parts, parts...)
		return nil
	})
	return message(a, err)
}

func (s *Server) resourceDiscover(context.Context, any) (any, error) {
	if s.config.Documents == nil {
		return nil, errNoSuchResource()
	}
	// REST has the core group in a document of its own; here it is one of all.
	var all apidiscoveryv2.APIGroupDiscoveryList
	contentType := ""
	for _, path := range []string{"/api", "/apis"} {
		d, _, err := s.config.Documents.Serve(path, nil, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "")
		if err != nil {
			return nil, err
		}
		var part apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(d.Body, &part); err != nil {
			return nil, fmt.Errorf("reading the discovery document of %s: %w", path, err)
		}
		all.TypeMeta, contentType = part.TypeMeta, d.ContentType
		all.Items = append(all.Items, part.Items...)
	}
	body, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return bodyMessage(answer{contentType: contentType, parts: [][]byte{body}}), nil
}

// resourceWatch sends {1 type, 2 object: Body, 3 trace_parent} messages.
func (s *Server) resourceWatch(stream grpc.ServerStream, q *apiv1.ResourceServiceWatchRequest) error {
	t, err := s.byRef(q.GetRef())
	if err != nil {
		return err
	}
	f, err := negotiate.Accept(q.GetAccept(), negotiate.Single)
	if err != nil {
		return err
	}
	var o metav1.ListOptions
	if err := options(q.GetOptions(), &o); err != nil {
		return err
	}
	send := func(kind watch.EventType, parts [][]byte, traceParent string) error {
		return stream.SendMsg(&apiv1.ResourceServiceWatchResponse{
			Type: string(kind), Object: &apiv1.Body{ContentType: f.ContentType(), Data: join(parts)}, TraceParent: traceParent,
		})
	}
	return s.watch(stream.Context(), t, o,
		func() error { return stream.SendHeader(nil) },
		func(e endpoint.WatchEvent, _ more) error {
			if e.Bookmark != nil {
				obj := t.kind.New()
				negotiate.MarkBookmark(obj, e.Bookmark)
				parts, err := negotiate.Plain(obj, t.view.GVK).Encode(f)
				if err != nil {
					return err
				}
				return send(watch.Bookmark, parts, "")
			}
			parts, err := t.view.Encode(f, e.Entry)
			if err != nil {
				return err
			}
			return send(e.Type, parts, e.Event.TraceParent)
		},
		func(status metav1.Status) error {
			a, err := showStatus(f, &status, 0)
			if err != nil {
				return err
			}
			return send(watch.Error, a.parts, "")
		})
}

func join(parts [][]byte) []byte {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	out := make([]byte, 0, n)
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}
