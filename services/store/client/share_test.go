package client_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/utils/clock"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/memory"
	"github.com/orrery-io/orrery/services/store/server"
	"github.com/orrery-io/orrery/services/store/wire"
)

// counting counts the watches that reach the store.
type counting struct {
	kv.KV
	mu      sync.Mutex
	watches int
}

func (c *counting) Watch(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	c.mu.Lock()
	c.watches++
	c.mu.Unlock()
	return c.KV.Watch(ctx, req)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches
}

// serve returns a client of a store in memory.
func serve(t *testing.T) (*client.Client, *counting) {
	m := memory.New(memory.Options{})
	k := &counting{KV: m}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec{}))
	storev1.RegisterStoreServiceServer(s, server.NewStore(k, clock.RealClock{}))
	h := health.NewServer()
	healthv1.RegisterHealthServer(s, h)
	var done sync.WaitGroup
	done.Go(func() { s.Serve(l) }) //nolint:errcheck // ends with Stop
	c, err := client.New(client.Config{Endpoints: []string{l.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		m.Close()
		s.Stop()
		done.Wait()
	})
	return c, k
}

// key is zero-padded, so that the order of keys is that of writes.
func key(i int) []byte { return fmt.Appendf(nil, "/s/%06d", i) }

func put(t *testing.T, c *client.Client, i int) int64 {
	t.Helper()
	r, err := c.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key(i), Value: make([]byte, 100)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Revision
}

// expect reads the events of the keys from first to last, in order, none missing and none twice.
func expect(t *testing.T, w kv.Watcher, first, last int) {
	t.Helper()
	for next := first; next <= last; {
		r, err := w.Next(t.Context())
		if err != nil {
			t.Errorf("waiting for key %d: %v", next, err)
			return
		}
		for _, e := range r.Events {
			if string(e.KV.Key) != string(key(next)) {
				t.Errorf("event of %s, want that of %s", e.KV.Key, key(next))
				return
			}
			next++
		}
	}
}

var all = kv.WatchRequest{Key: []byte("/s/"), End: kv.PrefixEnd([]byte("/s/"))}

func watch(t *testing.T, c *client.Client, req kv.WatchRequest) kv.Watcher {
	t.Helper()
	w, err := c.Watch(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

// TestSharedWatches: watches that ask for the same share one of the store, whenever they begin; a reader that sleeps does not
// hold up the others and misses nothing; one that asks for something else has its own.
func TestSharedWatches(t *testing.T) {
	c, store := serve(t)
	const keys, late = 2000, 1000
	asleep := watch(t, c, all)
	var readers sync.WaitGroup
	for range 20 {
		w := watch(t, c, all)
		readers.Go(func() { expect(t, w, 0, keys-1) })
	}
	other := all
	other.PrevKV = true
	w := watch(t, c, other)
	readers.Go(func() { expect(t, w, 0, keys-1) })
	if n := store.count(); n != 2 {
		t.Errorf("%d watches of the store, want 2", n)
	}
	gone := watch(t, c, all)
	for i := range keys {
		if i == late {
			gone.Close()
			w := watch(t, c, all)
			readers.Go(func() { expect(t, w, late, keys-1) })
		}
		put(t, c, i)
	}
	readers.Wait()
	expect(t, asleep, 0, keys-1)
	if _, err := gone.Next(t.Context()); err != kv.ErrClosed { //nolint:errorlint // it is this one
		t.Errorf("a closed watch says %v", err)
	}
}

// TestSharedWatchProgress: a notice of progress comes to the one that asked, with a revision at which it has everything.
func TestSharedWatchProgress(t *testing.T) {
	c, _ := serve(t)
	one, two := watch(t, c, all), watch(t, c, all)
	rev := put(t, c, 0)
	expect(t, one, 0, 0)
	if err := two.RequestProgress(); err != nil {
		t.Fatal(err)
	}
	expect(t, two, 0, 0)
	r, err := two.Next(t.Context())
	if err != nil || len(r.Events) > 0 || r.Revision < rev {
		t.Fatalf("%+v, %v: want a notice of progress at %d or later", r, err, rev)
	}
	put(t, c, 1)
	expect(t, one, 1, 1)
	expect(t, two, 1, 1)
	two.Close()
	put(t, c, 2)
	expect(t, one, 2, 2)
	one.Close()
	again := watch(t, c, all)
	put(t, c, 3)
	expect(t, again, 3, 3)
}
