package apitest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Call is one call that a client made.
type Call struct {
	// Kind and Method as in "Pod", "Create".
	Kind, Method    string
	Namespace, Name string
	// Object is what the request carries; nil for others than Create, Update and UpdateStatus.
	Object apiclient.Object
}

// Server is the api. Its zero value is not usable; see New.
type Server struct {
	// Before, when set, is called before each call of a verb; its error is the answer. After is called when the call took effect; its error is
	// the answer then, as when the answer is lost on its way. Both are set before the server is used.
	Before, After func(Call) error

	clock clock.PassiveClock

	mu       sync.Mutex
	revision int64
	objects  map[string]apiclient.Object // kind/namespace/name
	log      []change
	changed  chan struct{} // closed and replaced at every change
	calls    []Call
}

type change struct {
	kind     string
	event    watch.EventType
	object   apiclient.Object
	old      apiclient.Object
	revision int64
	cause    string
}

// New makes an empty api.
func New(c clock.PassiveClock) *Server {
	return &Server{clock: c, revision: 1, objects: map[string]apiclient.Object{}, changed: make(chan struct{})}
}

// Client is a client of the api.
func (s *Server) Client() *apiclient.Client { return apiclient.New(s) }

// Calls are the calls so far that match kind and method; "" matches all.
func (s *Server) Calls(kind, method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if (kind == "" || c.Kind == kind) && (method == "" || c.Method == method) {
			out = append(out, c)
		}
	}
	return out
}

// Changed is closed at the next change of any object.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Eventually waits until condition holds, looking again at every change, or until ctx is over.
func (s *Server) Eventually(ctx context.Context, condition func() bool) error {
	for {
		next := s.Changed()
		if condition() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var _ grpc.ClientConnInterface = (*Server)(nil)

// Invoke implements grpc.ClientConnInterface.
func (s *Server) Invoke(ctx context.Context, method string, args, reply any, _ ...grpc.CallOption) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	service, name, ok := strings.Cut(strings.TrimPrefix(method, "/"), "/")
	if !ok {
		return fmt.Errorf("apitest: bad method %q", method)
	}
	if service == resourceService {
		return apistatus.ToGRPC(s.invokeResource(name, args, reply))
	}
	kind, ok := kinds.ByService(service)
	if !ok {
		return fmt.Errorf("apitest: no service %q", service)
	}
	out, err := s.verb(kind, name, args)
	if err != nil {
		return apistatus.ToGRPC(err)
	}
	return answer(out, reply)
}

// answer hands out to the client by way of its encoding, so that nothing is shared.
func answer(out interface{ Marshal() ([]byte, error) }, reply any) error {
	if _, ok := reply.(*wire.Body); ok {
		return nil
	}
	data, err := out.Marshal()
	if err != nil {
		return err
	}
	return reply.(wire.Unmarshaler).Unmarshal(data)
}

func newObject(kind kinds.Kind) apiclient.Object {
	return must(scheme.Scheme.New(gvk(kind, kind.Kind))).(apiclient.Object)
}

func gvk(kind kinds.Kind, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: name}
}

func must(obj runtime.Object, err error) runtime.Object {
	if err != nil {
		panic(err)
	}
	return obj
}

func decode(kind kinds.Kind, data []byte) (apiclient.Object, error) {
	obj := newObject(kind)
	return obj, obj.Unmarshal(data)
}

func key(kind kinds.Kind, namespace, name string) string {
	return kind.GroupResource() + "/" + namespace + "/" + name
}

// list is the objects of a kind, in order of their keys.
func (s *Server) list(kind kinds.Kind, namespace string, options metav1.ListOptions) ([]apiclient.Object, error) {
	match, err := selector(options)
	if err != nil {
		return nil, err
	}
	var keys []string
	for k := range s.objects {
		if strings.HasPrefix(k, kind.GroupResource()+"/") {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	var out []apiclient.Object
	for _, k := range keys {
		if obj := s.objects[k]; (namespace == "" || obj.GetNamespace() == namespace) && match(obj) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func listOf(kind kinds.Kind, objects []apiclient.Object, revision string) interface{ Marshal() ([]byte, error) } {
	list := must(scheme.Scheme.New(gvk(kind, kind.ListKind())))
	items := make([]runtime.Object, len(objects))
	for i, o := range objects {
		items[i] = o
	}
	if err := meta.SetList(list, items); err != nil {
		panic(err)
	}
	list.(metav1.ListInterface).SetResourceVersion(revision)
	return list.(interface{ Marshal() ([]byte, error) })
}
