package endpoint_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/store/memory"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// api is the whole core over a store in memory. Time stands still unless a test moves it.
type api struct {
	t     testing.TB
	ctx   context.Context
	kv    *memory.KV
	hub   *watchcache.Hub
	set   *endpoint.Set
	clock *clocktesting.FakeClock
}

func newAPI(t testing.TB) *api {
	t.Helper()
	a := &api{t: t, kv: memory.New(memory.Options{}), clock: clocktesting.NewFakeClock(start)}
	all := registry.All()
	store := storage.New(a.kv, a.clock)
	a.hub = watchcache.NewHub(a.kv, endpoint.CacheTypes(all), watchcache.Options{Clock: a.clock, Handover: store.Handover()})
	chain := admission.NewChain(admission.NewNamespaceLifecycle(endpoint.Namespaces(a.hub, store)))
	a.set = endpoint.NewSet(all, a.hub, store, chain, a.clock)
	ctx, cancel := context.WithCancel(context.Background())
	a.ctx = ctx
	done := make(chan error, 1)
	go func() { done <- a.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the hub ended with %v", err)
		}
		a.kv.Close()
	})
	a.create("namespaces", "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	return a
}

var groups = map[string][2]string{
	"deployments": {"apps", "v1"}, "replicasets": {"apps", "v1"}, "leases": {"coordination.k8s.io", "v1"},
	"poddisruptionbudgets": {"policy", "v1"}, "certificatesigningrequests": {"certificates.k8s.io", "v1"},
	"horizontalpodautoscalers": {"autoscaling", "v2"},
}

func (a *api) of(resource string) *endpoint.Endpoint {
	a.t.Helper()
	gv, ok := groups[resource]
	if !ok {
		gv = [2]string{"", "v1"}
	}
	e, ok := a.set.Find(gv[0], gv[1], resource)
	if !ok {
		a.t.Fatalf("no endpoint for %s", resource)
	}
	return e
}

func (a *api) create(resource, namespace string, obj object.Object) *object.Entry {
	a.t.Helper()
	e, err := a.of(resource).Create(a.ctx, namespace, obj, metav1.CreateOptions{})
	if err != nil {
		a.t.Fatalf("creating %s %s: %v", resource, obj.GetName(), err)
	}
	return e
}

func (a *api) get(resource, namespace, name string) *object.Entry {
	a.t.Helper()
	e, err := a.of(resource).Get(a.ctx, namespace, name, metav1.GetOptions{})
	if err != nil {
		a.t.Fatalf("getting %s %s: %v", resource, name, err)
	}
	return e
}

func (a *api) pod(name string) *corev1.Pod {
	return a.get("pods", "default", name).Object.(*corev1.Pod)
}

// running is a pod on a node, so that its deletion takes a grace period.
func (a *api) running(name string, meta metav1.ObjectMeta) *corev1.Pod {
	a.t.Helper()
	p := newPod(name)
	meta.Name = name
	p.ObjectMeta = meta
	p.Spec.NodeName = "n1"
	a.create("pods", "default", p)
	return a.pod(name)
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}}}
}

func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"k": "v"}}
}

// wantError fails unless err is the status that clients match on.
func wantError(t testing.TB, err error, code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	t.Helper()
	status, ok := err.(*apierrors.StatusError)
	if !ok {
		t.Fatalf("error %v (%T), want a status", err, err)
	}
	if status.ErrStatus.Code != code || status.ErrStatus.Reason != reason || message != "" && status.ErrStatus.Message != message {
		t.Fatalf("got %d %s %q\nwant %d %s %q", status.ErrStatus.Code, status.ErrStatus.Reason, status.ErrStatus.Message, code, reason, message)
	}
	return status
}

func pointer[T any](v T) *T { return &v }
