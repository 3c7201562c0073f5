package watch_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/watch"
)

type fixture struct {
	testing.TB
	state *mvcc.State
	hub   *watch.Hub
}

func newFixture(t testing.TB) *fixture {
	s := mvcc.New()
	return &fixture{TB: t, state: s, hub: watch.NewHub(s.View())}
}

func (f *fixture) put(key string) int64 {
	resp, err := f.state.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key)}}}}, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.hub.Commit(f.state.View())
	return resp.Revision
}

func (f *fixture) watch(req kv.WatchRequest) *watch.Watcher {
	w, err := f.hub.Watch(req)
	if err != nil {
		f.Fatal(err)
	}
	return w
}

func all() kv.WatchRequest { return kv.WatchRequest{Key: []byte("/"), End: kv.PrefixEnd([]byte("/"))} }

// TestExpired: a watcher that compaction overtook is told up to where it has everything, whether it was caught up and
// has a list of revisions waiting, or reads the log.
func TestExpired(t *testing.T) {
	for name, n := range map[string]int{"caught up": 10, "reading the log": 5000} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			w := f.watch(all())
			delivered := f.put("/first")
			if resp, err := w.Next(t.Context()); err != nil || resp.Revision != delivered {
				t.Fatal(resp, err)
			}
			var last int64
			for i := range n {
				last = f.put(fmt.Sprintf("/%d", i))
			}
			if err := f.state.Compact(last); err != nil {
				t.Fatal(err)
			}
			f.hub.Commit(f.state.View())
			_, err := w.Next(t.Context())
			var expired *kv.ExpiredError
			if !errors.As(err, &expired) || expired.Revision != delivered {
				t.Fatalf("got %v, want an expiry after %d", err, delivered)
			}
			if _, err := w.Next(t.Context()); !errors.As(err, &expired) {
				t.Fatalf("the second time: %v", err)
			}
		})
	}
}

// TestProgressWhileIdle: a tick tells an idle watcher how far it is, one that just had events waits for the next.
func TestProgressWhileIdle(t *testing.T) {
	f := newFixture(t)
	req := all()
	req.ProgressNotify = true
	w := f.watch(req)
	f.put("/a")
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	elsewhere := f.put("elsewhere")
	f.hub.Tick()
	f.hub.Tick()
	resp, err := w.Next(t.Context())
	if err != nil || len(resp.Events) != 0 || resp.Revision != elsewhere {
		t.Fatalf("got %v, %v; want a notice of revision %d", resp, err, elsewhere)
	}
	// Notices are for those who asked.
	quiet := f.watch(all())
	f.hub.Tick()
	f.hub.Tick()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if resp, err := quiet.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, %v", resp, err)
	}
}

// TestReset: after a snapshot from the leader a watcher goes on without a gap; after a restored backup it ends.
func TestReset(t *testing.T) {
	f := newFixture(t)
	w := f.watch(all())
	ended := f.watch(all())
	first := f.put("/a")
	leader := *f
	leader.hub = watch.NewHub(f.state.View())
	leader.put("/b")
	last := leader.put("/c")
	f.hub.Reset(leader.state.View(), false)
	var got []int64
	for len(got) < 3 {
		resp, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.Events {
			got = append(got, e.KV.ModRevision)
		}
	}
	if got[0] != first || got[2] != last {
		t.Fatalf("revisions %v", got)
	}
	f.hub.Reset(leader.state.View(), true)
	var expired *kv.ExpiredError
	if _, err := ended.Next(t.Context()); !errors.As(err, &expired) {
		t.Fatalf("got %v, want an expiry", err)
	}
}

func TestClosedWatchersAreForgotten(t *testing.T) {
	f := newFixture(t)
	for i := range 100 {
		f.watch(kv.WatchRequest{Key: fmt.Appendf(nil, "/%d", i)}).Close()
		f.watch(kv.WatchRequest{Key: fmt.Appendf(nil, "/%d", i), End: kv.PrefixEnd(fmt.Appendf(nil, "/%d", i))}).Close()
		f.watch(kv.WatchRequest{Key: []byte("/a"), End: []byte("/c")}).Close()
	}
	if n := f.hub.Figures().Watchers; n != 0 {
		t.Fatalf("%d watchers are left", n)
	}
	f.hub.Close()
	if _, err := f.hub.Watch(all()); !errors.Is(err, kv.ErrClosed) {
		t.Fatalf("a closed hub answered %v", err)
	}
}

// BenchmarkCommit publishes one change to a store with many watchers, of which few are concerned.
func BenchmarkCommit(b *testing.B) {
	f := newFixture(b)
	for i := range 5000 {
		k := fmt.Appendf(nil, "/registry/pods/ns-%d/", i)
		f.watch(kv.WatchRequest{Key: k, End: kv.PrefixEnd(k)})
	}
	for b.Loop() {
		f.put("/registry/pods/ns-17/web")
	}
}
