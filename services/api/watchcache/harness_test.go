package watchcache_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/memory"
)

const (
	pods  = "/registry/pods/"
	nodes = "/registry/nodes/"
)

var types = []watchcache.Type{
	{Resource: schema.GroupResource{Resource: "pods"}, Prefix: pods, Namespaced: true,
		Codec:      storage.NewCodec(corev1.SchemeGroupVersion.WithKind("Pod"), func() object.Object { return &corev1.Pod{} }),
		IndexValue: func(o object.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
	{Resource: schema.GroupResource{Resource: "nodes"}, Prefix: nodes,
		Codec: storage.NewCodec(corev1.SchemeGroupVersion.WithKind("Node"), func() object.Object { return &corev1.Node{} })},
}

// world is a hub over a store in memory, and a writer.
type world struct {
	testing.TB
	ctx   context.Context
	kv    kv.KV
	store *storage.Store
	hub   *watchcache.Hub
	clock *clocktesting.FakeClock
	pods  *watchcache.Cache
}

func newWorld(t testing.TB, o watchcache.Options) *world {
	t.Helper()
	m := memory.New(memory.Options{})
	t.Cleanup(m.Close)
	return over(t, m, o)
}

// over starts a hub on a store. Without a clock in the options time is real, for waits that no test steps through.
func over(t testing.TB, store kv.KV, o watchcache.Options) *world {
	t.Helper()
	w := &world{TB: t, kv: store, store: storage.New(store, clock.RealClock{})}
	o.Handover = w.store.Handover()
	w.clock, _ = o.Clock.(*clocktesting.FakeClock)
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	w.hub = watchcache.NewHub(store, types, o)
	w.pods = w.hub.Cache(pods)
	ctx, cancel := context.WithCancel(context.Background())
	w.ctx = ctx
	done := make(chan error, 1)
	go func() { done <- w.hub.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the hub ended with %v", err)
		}
	})
	<-w.hub.Ready()
	return w
}

// put writes a pod "namespace/name" with a node and a label, and returns the revision.
func (w *world) put(at, node, label string) int64 {
	w.Helper()
	namespace, name, _ := strings.Cut(at, "/")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": label}}, Spec: corev1.PodSpec{NodeName: node}}
	r, err := w.store.Update(w.ctx, w.pods.Type().Codec, pods+at, nil, func(*object.Entry) (storage.Change, error) {
		return storage.Change{Object: pod}, nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Entry.Revision
}

func (w *world) drop(at string) int64 {
	w.Helper()
	r, err := w.store.Update(w.ctx, w.pods.Type().Codec, pods+at, nil, func(*object.Entry) (storage.Change, error) {
		return storage.Change{Delete: true}, nil
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Entry.Revision
}

func (w *world) watch(o watchcache.WatchOptions) *watchcache.Watcher {
	w.Helper()
	if o.Timeout == 0 {
		o.Timeout = time.Hour
	}
	watcher, err := w.pods.Watch(w.ctx, o)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(watcher.Close)
	return watcher
}

// next is the next event as text: "ADDED default/a 5", "BOOKMARK 7", "EOF" or the error.
func (w *world) next(watcher *watchcache.Watcher) string {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, 20*time.Second)
	defer cancel()
	e, err := watcher.Next(ctx)
	switch {
	case errors.Is(err, io.EOF):
		return "EOF"
	case err != nil:
		return err.Error()
	case e.Bookmark != nil && e.Bookmark.InitialEventsEnd:
		return fmt.Sprintf("%s %d end", e.Type, e.Bookmark.Revision)
	case e.Bookmark != nil:
		return fmt.Sprintf("%s %d", e.Type, e.Bookmark.Revision)
	}
	o := e.Entry.Object
	return fmt.Sprintf("%s %s/%s %s", e.Type, o.GetNamespace(), o.GetName(), o.GetResourceVersion())
}

func (w *world) expect(watcher *watchcache.Watcher, want ...string) {
	w.Helper()
	for _, line := range want {
		if got := w.next(watcher); got != line {
			w.Fatalf("got %q, want %q", got, line)
		}
	}
}

func line(event, at string, revision int64) string {
	return fmt.Sprintf("%s %s %d", event, at, revision)
}

func withApp(label string) func(*object.Entry) bool {
	return func(e *object.Entry) bool { return e.Object.GetLabels()["app"] == label }
}
