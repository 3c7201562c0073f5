// Package memory is a nodeapi.Interface without a network, for tests of the agent: objects in a map, one revision counter, watches of pods.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/trace"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/node/nodeapi"
)

// API is the in-memory api. It is safe for concurrent use.
type API struct {
	mu       sync.Mutex
	revision int
	objects  map[string]metav1.Object
	streams  map[*stream]struct{}
	changed  chan struct{}
	// traces are those that status writes were part of.
	traces map[string]bool
	// away makes every call fail as if the api were down.
	away bool
}

var _ nodeapi.Interface = (*API)(nil)

// New makes an empty API.
func New() *API {
	return &API{objects: map[string]metav1.Object{}, streams: map[*stream]struct{}{}, changed: make(chan struct{}), traces: map[string]bool{}}
}

// SetAway makes calls fail, or work again; open watches break.
func (a *API) SetAway(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
	for s := range a.streams {
		s.cancel()
	}
}

// Wait calls check after every change until it is true or ctx is over.
func (a *API) Wait(ctx context.Context, check func() bool) error {
	for {
		a.mu.Lock()
		changed := a.changed
		a.mu.Unlock()
		if check() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func id(resource, namespace, name string) string { return resource + "/" + namespace + "/" + name }

func resourceOf(obj metav1.Object) string {
	switch obj.(type) {
	case *corev1.Pod:
		return "pods"
	case *corev1.Node:
		return "nodes"
	case *corev1.ConfigMap:
		return "configmaps"
	case *corev1.Secret:
		return "secrets"
	case *corev1.Event:
		return "events"
	case *coordinationv1.Lease:
		return "leases"
	}
	return "objects"
}

// Put stores an object as a user would create or change it.
func (a *API) Put(obj metav1.Object) { a.PutTraced(obj, "") }

// PutTraced is Put by a write with a W3C trace context.
func (a *API) PutTraced(obj metav1.Object, traceParent string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store(copyOf(obj), traceParent)
}

func copyOf(obj metav1.Object) metav1.Object {
	return obj.(runtime.Object).DeepCopyObject().(metav1.Object)
}

// store writes an object and tells the watchers; a.mu is held.
func (a *API) store(obj metav1.Object, traceParent string) metav1.Object {
	a.revision++
	obj.SetResourceVersion(strconv.Itoa(a.revision))
	key := id(resourceOf(obj), obj.GetNamespace(), obj.GetName())
	kind := watch.Modified
	if a.objects[key] == nil {
		kind = watch.Added
		if obj.GetUID() == "" {
			obj.SetUID(types.UID("uid-" + strconv.Itoa(a.revision)))
		}
	}
	a.objects[key] = obj
	a.tell(kind, obj, traceParent)
	return copyOf(obj)
}

func (a *API) tell(kind watch.EventType, obj metav1.Object, traceParent string) {
	if pod, ok := obj.(*corev1.Pod); ok {
		for s := range a.streams {
			s.add(apiclient.Event[*corev1.Pod]{Type: kind, Object: pod.DeepCopy(), TraceParent: traceParent})
		}
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *API) check() error {
	if a.away {
		return apierrors.NewServiceUnavailable("the api is away")
	}
	return nil
}

func get[T metav1.Object](a *API, resource, namespace, name string) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var none T
	if err := a.check(); err != nil {
		return none, err
	}
	obj, ok := a.objects[id(resource, namespace, name)]
	if !ok {
		return none, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name)
	}
	return copyOf(obj).(T), nil
}

func create[T metav1.Object](a *API, obj T) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var none T
	if err := a.check(); err != nil {
		return none, err
	}
	resource := resourceOf(obj)
	if a.objects[id(resource, obj.GetNamespace(), obj.GetName())] != nil {
		return none, apierrors.NewAlreadyExists(schema.GroupResource{Resource: resource}, obj.GetName())
	}
	return a.store(copyOf(obj), "").(T), nil
}

func update[T metav1.Object](a *API, obj T, change func(current, wanted T)) (T, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var none T
	if err := a.check(); err != nil {
		return none, err
	}
	resource := resourceOf(obj)
	current, ok := a.objects[id(resource, obj.GetNamespace(), obj.GetName())]
	if !ok {
		return none, apierrors.NewNotFound(schema.GroupResource{Resource: resource}, obj.GetName())
	}
	if current.GetResourceVersion() != obj.GetResourceVersion() {
		return none, apierrors.NewConflict(schema.GroupResource{Resource: resource}, obj.GetName(), errors.New("the object has been modified"))
	}
	fresh := copyOf(current).(T)
	change(fresh, copyOf(obj).(T))
	return a.store(fresh, "").(T), nil
}

func (a *API) Pod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	return get[*corev1.Pod](a, "pods", namespace, name)
}

func (a *API) UpdatePodStatus(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		a.mu.Lock()
		a.traces[span.TraceID().String()] = true
		a.mu.Unlock()
	}
	return update(a, pod, func(current, wanted *corev1.Pod) { current.Status = wanted.Status })
}

// DeletePod marks the pod for deletion or, with a grace period of 0 or on no node, removes it.
func (a *API) DeletePod(_ context.Context, namespace, name string, options metav1.DeleteOptions) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(); err != nil {
		return err
	}
	key := id("pods", namespace, name)
	obj, ok := a.objects[key]
	if !ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
	}
	pod := copyOf(obj).(*corev1.Pod)
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != pod.UID {
		return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, name, errors.New("the UID does not match"))
	}
	grace := int64(30)
	if options.GracePeriodSeconds != nil {
		grace = *options.GracePeriodSeconds
	} else if pod.Spec.TerminationGracePeriodSeconds != nil {
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	if grace == 0 {
		delete(a.objects, key)
		a.revision++
		pod.ResourceVersion = strconv.Itoa(a.revision)
		a.tell(watch.Deleted, pod, "")
		return nil
	}
	now := metav1.Now()
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &now, &grace
	a.store(pod, "")
	return nil
}

func (a *API) ConfigMap(_ context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return get[*corev1.ConfigMap](a, "configmaps", namespace, name)
}

func (a *API) Secret(_ context.Context, namespace, name string) (*corev1.Secret, error) {
	return get[*corev1.Secret](a, "secrets", namespace, name)
}

func (a *API) Node(_ context.Context, name string) (*corev1.Node, error) {
	return get[*corev1.Node](a, "nodes", "", name)
}

func (a *API) CreateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	return create(a, node)
}

func (a *API) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	return update(a, node, func(current, wanted *corev1.Node) { current.Labels, current.Spec = wanted.Labels, wanted.Spec })
}

func (a *API) UpdateNodeStatus(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	return update(a, node, func(current, wanted *corev1.Node) { current.Status = wanted.Status })
}

func (a *API) Lease(_ context.Context, name string) (*coordinationv1.Lease, error) {
	return get[*coordinationv1.Lease](a, "leases", nodeapi.LeaseNamespace, name)
}

func (a *API) CreateLease(_ context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return create(a, lease)
}

func (a *API) UpdateLease(_ context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return update(a, lease, func(current, wanted *coordinationv1.Lease) { current.Spec = wanted.Spec })
}

func (a *API) CreateEvent(_ context.Context, event *corev1.Event) (*corev1.Event, error) {
	return create(a, event)
}

func (a *API) PatchEvent(_ context.Context, namespace, name string, patch []byte) (*corev1.Event, error) {
	event, err := get[*corev1.Event](a, "events", namespace, name)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, event); err != nil {
		return nil, err
	}
	a.Put(event)
	return event, nil
}

// WroteStatusIn tells whether a pod's status was written as part of a trace, given by its id.
func (a *API) WroteStatusIn(traceID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.traces[traceID]
}

// Events lists "REASON: MESSAGE" of the pod's events.
func (a *API) Events(pod string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []string
	for key, obj := range a.objects {
		if event, ok := obj.(*corev1.Event); ok && strings.HasPrefix(key, "events/") && event.InvolvedObject.Name == pod {
			out = append(out, event.Reason+": "+event.Message)
		}
	}
	return out
}

// stream is a watch of pods.
type stream struct {
	api      *API
	ctx      context.Context
	cancel   context.CancelFunc
	selector fields.Selector
	mu       sync.Mutex
	queue    []apiclient.Event[*corev1.Pod]
	signal   chan struct{}
}

// WatchPods begins with all pods that are there; resuming from a revision is not possible here and answers 410.
func (a *API) WatchPods(ctx context.Context, options metav1.ListOptions) (informer.Stream[*corev1.Pod], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.check(); err != nil {
		return nil, err
	}
	if options.ResourceVersion != "" {
		return nil, apierrors.NewResourceExpired("this watch begins anew")
	}
	selector, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{api: a, ctx: ctx, cancel: cancel, selector: selector, signal: make(chan struct{}, 1)}
	for _, obj := range a.objects {
		if pod, ok := obj.(*corev1.Pod); ok {
			s.add(apiclient.Event[*corev1.Pod]{Type: watch.Added, Object: pod.DeepCopy()})
		}
	}
	end := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(a.revision), Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	s.push(apiclient.Event[*corev1.Pod]{Type: watch.Bookmark, Object: end})
	a.streams[s] = struct{}{}
	return s, nil
}

func (s *stream) add(event apiclient.Event[*corev1.Pod]) {
	if s.selector.Matches(fields.Set{"spec.nodeName": event.Object.Spec.NodeName}) {
		s.push(event)
	}
}

func (s *stream) push(event apiclient.Event[*corev1.Pod]) {
	s.mu.Lock()
	s.queue = append(s.queue, event)
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// Recv implements informer.Stream.
func (s *stream) Recv() (apiclient.Event[*corev1.Pod], error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			event := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return event, nil
		}
		s.mu.Unlock()
		select {
		case <-s.signal:
		case <-s.ctx.Done():
			return apiclient.Event[*corev1.Pod]{}, io.EOF
		}
	}
}

// Close implements informer.Stream.
func (s *stream) Close() {
	s.cancel()
	s.api.mu.Lock()
	delete(s.api.streams, s)
	s.api.mu.Unlock()
}
