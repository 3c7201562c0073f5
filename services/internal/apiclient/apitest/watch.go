package apitest

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// NewStream implements grpc.ClientConnInterface: every stream is a watch.
func (s *Server) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	service, _, _ := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	w := &watchStream{server: s, ctx: ctx}
	if service != resourceService {
		kind, ok := kinds.ByService(service)
		if !ok {
			return nil, fmt.Errorf("apitest: no service %q", service)
		}
		w.kind = kind
	}
	return w, nil
}

// watchStream is one open watch: first what is initial, then the log from at on.
type watchStream struct {
	server    *Server
	ctx       context.Context
	kind      kinds.Kind
	namespace string
	match     func(apiclient.Object) bool
	initial   []change
	at        int
}

func (w *watchStream) open(namespace string, options metav1.ListOptions) error {
	match, err := selector(options)
	if err != nil {
		return apistatus.ToGRPC(err)
	}
	w.namespace, w.match = namespace, match
	s := w.server
	if s.Before != nil {
		if err := s.Before(Call{Kind: w.kind.Kind, Method: "Watch", Namespace: namespace}); err != nil {
			return apistatus.ToGRPC(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.at = len(s.log)
	switch {
	case options.SendInitialEvents != nil && *options.SendInitialEvents:
		objects, err := s.list(w.kind, namespace, options)
		if err != nil {
			return apistatus.ToGRPC(err)
		}
		for _, o := range objects {
			w.initial = append(w.initial, change{event: watch.Added, object: o})
		}
		mark := newObject(w.kind)
		mark.SetResourceVersion(strconv.FormatInt(s.revision, 10))
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		w.initial = append(w.initial, change{event: watch.Bookmark, object: mark})
	case options.ResourceVersion != "":
		from, err := strconv.ParseInt(options.ResourceVersion, 10, 64)
		if err != nil {
			return apistatus.ToGRPC(apierrors.NewBadRequest(err.Error()))
		}
		for w.at > 0 && s.log[w.at-1].revision > from {
			w.at--
		}
	}
	return nil
}

// next blocks for the next change that the watch shows.
func (w *watchStream) next() (watch.EventType, apiclient.Object, string, error) {
	for {
		if len(w.initial) > 0 {
			c := w.initial[0]
			w.initial = w.initial[1:]
			return c.event, c.object, "", nil
		}
		w.server.mu.Lock()
		var found *change
		for w.at < len(w.server.log) && found == nil {
			c := w.server.log[w.at]
			w.at++
			if c.kind == w.kind.GroupResource() && (w.namespace == "" || c.object.GetNamespace() == w.namespace) {
				found = &c
			}
		}
		changed := w.server.changed
		w.server.mu.Unlock()
		if found != nil {
			is, was := w.match(found.object) && found.event != watch.Deleted, found.old != nil && w.match(found.old)
			switch {
			case is && was:
				return watch.Modified, found.object, found.cause, nil
			case is:
				return watch.Added, found.object, found.cause, nil
			case was:
				return watch.Deleted, found.object, found.cause, nil
			}
			continue
		}
		select {
		case <-changed:
		case <-w.ctx.Done():
			return "", nil, "", w.ctx.Err()
		}
	}
}

func (w *watchStream) SendMsg(m any) error {
	switch r := m.(type) {
	case *wire.ListRequest:
		return w.open(r.Namespace, r.Options)
	case *apiv1.ResourceServiceWatchRequest:
		kind, ok := kinds.ByResource(r.Ref.Group, r.Ref.Version, r.Ref.Resource)
		if !ok {
			return apistatus.ToGRPC(apierrors.NewNotFound(resource(kind), ""))
		}
		w.kind = kind
		options := metav1.ListOptions{}
		if err := options.Unmarshal(r.Options); err != nil {
			return err
		}
		return w.open(r.Ref.Namespace, options)
	}
	return fmt.Errorf("apitest: cannot watch by a %T", m)
}

func (w *watchStream) RecvMsg(m any) error {
	event, obj, cause, err := w.next()
	if err != nil {
		return apistatus.ToGRPC(err)
	}
	switch out := m.(type) {
	case *wire.Event:
		data, err := obj.Marshal()
		*out = wire.Event{Type: string(event), Object: data, TraceParent: cause}
		return err
	case *apiv1.ResourceServiceWatchResponse:
		body, err := metadataBody(obj)
		out.Type, out.Object, out.TraceParent = string(event), body, cause
		return err
	}
	return fmt.Errorf("apitest: cannot answer a watch with a %T", m)
}

func (w *watchStream) Header() (metadata.MD, error) { return nil, nil }
func (w *watchStream) Trailer() metadata.MD         { return nil }
func (w *watchStream) CloseSend() error             { return nil }
func (w *watchStream) Context() context.Context     { return w.ctx }
