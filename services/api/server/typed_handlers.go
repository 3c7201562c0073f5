package server

import (
	"context"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// entryBody is a message made of an entry's own encoding.
func entryBody(e *object.Entry) *wire.Body { return &wire.Body{Parts: e.Proto()} }

func typedGet(ctx context.Context, r rpc, q *wire.GetRequest) (any, error) {
	if q.Name == "" {
		return nil, errNameRequired
	}
	e, err := r.target(q.Namespace, q.Name).scoped().read(ctx, metav1.GetOptions{ResourceVersion: q.ResourceVersion})
	if err != nil {
		return nil, err
	}
	return entryBody(e), nil
}

func typedList(ctx context.Context, r rpc, q *wire.ListRequest) (any, error) {
	t := r.target(q.Namespace, "").scoped()
	if err := t.check("list"); err != nil {
		return nil, err
	}
	l, err := t.verbs.List(ctx, t.namespace, q.Options)
	if err != nil {
		return nil, err
	}
	parts, err := t.view.Message(l)
	return &wire.Body{Parts: parts}, err
}

func typedCreate(ctx context.Context, r rpc, q *wire.CreateRequest) (any, error) {
	if q.Namespace == "" {
		_, q.Namespace = objectNames(q.Object)
	}
	if q.Name == "" && r.method.Subresource != "" {
		q.Name, _ = objectNames(q.Object)
	}
	t := r.target(q.Namespace, q.Name).scoped()
	if err := negotiate.CheckCreateOptions(&q.Options); err != nil {
		return nil, err
	}
	obj, err := t.unmarshal(q.Object)
	if err != nil {
		return nil, err
	}
	e, reply, err := t.write(ctx, obj, q.Options)
	switch {
	case err != nil:
		return nil, err
	case e != nil:
		return entryBody(e), nil
	case reply != nil:
		return reply, nil
	}
	// The method's response is the object that was sent (a Binding, an Eviction).
	return obj, nil
}

// unmarshal decodes the object of a typed request.
func (t target) unmarshal(data []byte) (object.Object, error) {
	if err := negotiate.CheckSize(data); err != nil {
		return nil, err
	}
	obj, err := t.newObject()
	if err != nil {
		return nil, err
	}
	gvk := t.gvk()
	if err := obj.Unmarshal(data); err != nil {
		return nil, apierrors.NewBadRequest(gvk.Kind + " could not be decoded from protobuf: " + err.Error())
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return obj, nil
}

func typedUpdate(ctx context.Context, r rpc, q *wire.UpdateRequest) (any, error) {
	name, namespace := updateNames(q)
	t := r.target(namespace, name).scoped()
	if err := t.check("update"); err != nil {
		return nil, err
	}
	if name == "" {
		return nil, errNameRequired
	}
	if err := negotiate.CheckUpdateOptions(&q.Options); err != nil {
		return nil, err
	}
	obj, err := t.unmarshal(q.Object)
	if err != nil {
		return nil, err
	}
	e, _, err := t.verbs.Update(ctx, t.namespace, t.name, t.subresource, obj, q.Options)
	if err != nil {
		return nil, err
	}
	return entryBody(e), nil
}

// wirePatches are the patch types of the typed services.
var wirePatches = map[wire.PatchType]types.PatchType{
	wire.PatchJSON: types.JSONPatchType, wire.PatchMerge: types.MergePatchType,
	wire.PatchStrategicMerge: types.StrategicMergePatchType, wire.PatchApply: types.ApplyYAMLPatchType,
}

func typedPatch(ctx context.Context, r rpc, q *wire.PatchRequest) (any, error) {
	kind, ok := wirePatches[q.Type]
	if !ok {
		return nil, apierrors.NewBadRequest("type must say which kind of patch this is: JSON, merge, strategic merge or apply")
	}
	if q.Name == "" {
		return nil, errNameRequired
	}
	if q.Subresource != "" && !r.kind.HasSubresource(q.Subresource) {
		return nil, errNoSuchResource()
	}
	if err := negotiate.CheckPatchOptions(&q.Options, kind); err != nil {
		return nil, err
	}
	t := r.target(q.Namespace, q.Name).scoped()
	t.subresource = q.Subresource
	e, _, err := t.applyPatch(ctx, kind, q.Patch, q.Options)
	if err != nil {
		return nil, err
	}
	return entryBody(e), nil
}

func typedDelete(ctx context.Context, r rpc, q *wire.DeleteRequest) (any, error) {
	t := r.target(q.Namespace, q.Name).scoped()
	if q.Name == "" {
		return nil, errNameRequired
	}
	if err := t.check("delete"); err != nil {
		return nil, err
	}
	if err := negotiate.CheckDeleteOptions(&q.Options); err != nil {
		return nil, err
	}
	e, _, err := t.verbs.Delete(ctx, t.namespace, t.name, q.Options)
	if err != nil {
		return nil, err
	}
	return t.deleted(e), nil
}

func typedDeleteCollection(ctx context.Context, r rpc, q *wire.DeleteCollectionRequest) (any, error) {
	t := r.target(q.Namespace, "").scoped()
	if err := t.check("deletecollection"); err != nil {
		return nil, err
	}
	if err := negotiate.CheckDeleteOptions(&q.Options); err != nil {
		return nil, err
	}
	if _, err := t.verbs.DeleteCollection(ctx, t.namespace, q.Options, q.ListOptions); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess}, nil
}

// scoped drops the namespace of a kind that has none.
func (t target) scoped() target {
	if !t.kind.Namespaced {
		t.namespace = ""
	}
	return t
}

// serveTypedWatch sends {type, object, trace_parent, status} messages, encoded once for all watchers of an event.
func (s *Server) serveTypedWatch(stream grpc.ServerStream, t target, options metav1.ListOptions) error {
	return s.watch(stream.Context(), t.scoped(), options,
		// The headers tell the client that the watch is registered, though nothing may happen for hours.
		func() error { return stream.SendHeader(nil) },
		func(e endpoint.WatchEvent, _ more) error {
			if e.Bookmark == nil {
				return stream.SendMsg(e.Event.Typed(e.Type))
			}
			obj := t.kind.New()
			negotiate.MarkBookmark(obj, e.Bookmark)
			data, err := obj.Marshal()
			if err != nil {
				return err
			}
			return stream.SendMsg(&wire.Event{Type: string(watch.Bookmark), Object: data})
		},
		func(status metav1.Status) error {
			return stream.SendMsg(&wire.Event{Type: string(watch.Error), Status: &status})
		})
}
