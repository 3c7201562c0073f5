package watchcache_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/memory"
)

func TestWatchFromARevision(t *testing.T) {
	w := newWorld(t, watchcache.Options{})
	r1 := w.put("default/a", "n1", "x")
	r2 := w.put("default/b", "n1", "x")
	r3 := w.put("default/a", "n2", "x")
	r4 := w.drop("default/b")
	if err := w.hub.Latest(w.ctx); err != nil {
		t.Fatal(err)
	}
	// Whether the events lie in the past or are still to come makes no difference.
	old := w.watch(watchcache.WatchOptions{After: r1})
	w.expect(old, line("ADDED", "default/b", r2), line("MODIFIED", "default/a", r3), line("DELETED", "default/b", r4))
	r5 := w.put("default/c", "", "x")
	w.expect(old, line("ADDED", "default/c", r5))
	resumed := w.watch(watchcache.WatchOptions{After: r4})
	w.expect(resumed, line("ADDED", "default/c", r5))
	// A client that comes from an api which is ahead is not told what it has seen.
	ahead := w.watch(watchcache.WatchOptions{After: r5 + 1})
	w.put("default/d", "", "x")
	r7 := w.put("default/e", "", "x")
	w.expect(ahead, line("ADDED", "default/e", r7))
}

func TestSelectorsTurnChangesIntoAddedAndDeleted(t *testing.T) {
	for name, filter := range map[string]watchcache.Filter{
		"label":           {Match: withApp("x")},
		"label and space": {Namespace: "default", Match: withApp("x")},
		"index":           {Index: "x", HasIndex: true},
		"one object":      {Namespace: "default", Name: "a", Match: withApp("x")},
		"name anywhere":   {Name: "a", Match: withApp("x")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, watchcache.Options{})
			start := w.put("other/noise", "y", "y")
			watcher := w.watch(watchcache.WatchOptions{Filter: filter, After: start})
			w.put("default/a", "y", "y")
			in := w.put("default/a", "x", "x")
			same := w.put("default/a", "x", "x2")
			if filter.Match != nil {
				w.expect(watcher, line("ADDED", "default/a", in), line("DELETED", "default/a", same))
				in = w.put("default/a", "x", "x")
				w.expect(watcher, line("ADDED", "default/a", in))
			} else {
				w.expect(watcher, line("ADDED", "default/a", in), line("MODIFIED", "default/a", same))
			}
			w.put("other/noise", "x2", "y")
			out := w.put("default/a", "y", "y")
			w.expect(watcher, line("DELETED", "default/a", out))
			w.drop("default/a")
			w.put("default/a", "x", "x")
			gone := w.drop("default/a")
			w.expect(watcher, line("ADDED", "default/a", gone-1), line("DELETED", "default/a", gone))
		})
	}
}

func TestInitialEvents(t *testing.T) {
	w := newWorld(t, watchcache.Options{})
	b := w.put("default/b", "n1", "x")
	a := w.put("default/a", "n1", "x")
	last := w.put("other/c", "n2", "x")
	for _, c := range []struct {
		filter watchcache.Filter
		want   []string
	}{
		{watchcache.Filter{}, []string{line("ADDED", "default/a", a), line("ADDED", "default/b", b), line("ADDED", "other/c", last)}},
		{watchcache.Filter{Namespace: "default"}, []string{line("ADDED", "default/a", a), line("ADDED", "default/b", b)}},
		{watchcache.Filter{HasIndex: true, Index: "n1"}, []string{line("ADDED", "default/a", a), line("ADDED", "default/b", b)}},
		{watchcache.Filter{Namespace: "default", Name: "b"}, []string{line("ADDED", "default/b", b)}},
		{watchcache.Filter{Namespace: "none"}, nil},
	} {
		watcher := w.watch(watchcache.WatchOptions{Filter: c.filter, Initial: true, Fresh: watchcache.Freshness{Latest: true}, Bookmarks: true, InitialEnd: true})
		w.expect(watcher, append(c.want, fmt.Sprintf("BOOKMARK %d end", last))...)
	}
}

func TestBookmarksAndTimeout(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	w := newWorld(t, watchcache.Options{Clock: clock})
	r := w.put("default/a", "n1", "x")
	if err := w.hub.Latest(w.ctx); err != nil {
		t.Fatal(err)
	}
	// Nothing of the watcher's own happens, but it is complete up to the changes of others.
	watcher := w.watch(watchcache.WatchOptions{Filter: watchcache.Filter{HasIndex: true, Index: "n9"}, After: r, Bookmarks: true, Timeout: 90 * time.Second})
	plain := w.watch(watchcache.WatchOptions{After: r, Timeout: 90 * time.Second})
	other := w.put("default/b", "n1", "x")
	if err := w.hub.Latest(w.ctx); err != nil {
		t.Fatal(err)
	}
	clock.Step(61 * time.Second)
	w.expect(watcher, fmt.Sprintf("BOOKMARK %d", other))
	w.expect(plain, line("ADDED", "default/b", other))
	clock.Step(30 * time.Second)
	w.expect(watcher, fmt.Sprintf("BOOKMARK %d", other), "EOF", "EOF")
	w.expect(plain, "EOF")
}

func TestSlowWatchers(t *testing.T) {
	w := newWorld(t, watchcache.Options{WindowMin: 16, WindowMax: 16, PendingMax: 2})
	start := w.put("default/zero", "n1", "x")
	slow := map[string]*watchcache.Watcher{
		"all":     w.watch(watchcache.WatchOptions{After: start}),
		"indexed": w.watch(watchcache.WatchOptions{Filter: watchcache.Filter{HasIndex: true, Index: "n1"}, After: start}),
		"space":   w.watch(watchcache.WatchOptions{Filter: watchcache.Filter{Namespace: "default"}, After: start}),
	}
	write := func(n int) (last int64) {
		for i := range n {
			last = w.put(fmt.Sprint("default/", i), "n1", fmt.Sprint(rand.N(1<<30)))
		}
		if err := w.hub.Latest(w.ctx); err != nil {
			t.Fatal(err)
		}
		return last
	}
	// As many as the window holds: nothing is lost to anybody.
	last := write(16)
	for name, watcher := range slow {
		for r := last - 15; r <= last; r++ {
			if got := w.next(watcher); !strings.HasSuffix(got, fmt.Sprint(" ", r)) {
				t.Fatalf("%s: %q at revision %d", name, got, r)
			}
		}
	}
	// More than that, unread: the watch ends with the reason, after whatever it had been handed.
	last = write(40)
	for name, watcher := range slow {
		for {
			got := w.next(watcher)
			if strings.HasPrefix(got, "too old resource version: ") {
				break
			}
			if !strings.HasPrefix(got, "MODIFIED") && !strings.HasPrefix(got, "ADDED") {
				t.Fatalf("%s: %q", name, got)
			}
			if strings.HasSuffix(got, fmt.Sprint(" ", last)) {
				t.Fatalf("%s: reached the end over a gap", name)
			}
		}
		if _, err := watcher.Next(w.ctx); !apierrors.IsResourceExpired(err) {
			t.Errorf("%s: then %v", name, err)
		}
	}
	if _, err := w.pods.Watch(w.ctx, watchcache.WatchOptions{After: start, Timeout: time.Hour}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch from before the window: %v", err)
	}
}

// Writers, and watchers of every sort: each sees every change that its selector shows once, in order, with the right type. What
// that is, is worked out from the writes alone.
func TestWatchGuarantees(t *testing.T) {
	w := newWorld(t, watchcache.Options{WindowMin: 4096, PendingMax: 4})
	start := w.put("s0/zero", "n0", "x")
	const writers, each = 4, 150
	type write struct {
		revision int64
		at, node string
		label    string
		deleted  bool
	}
	logs := make([][]write, writers)
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for n := range each {
				c := write{at: fmt.Sprintf("s%d/p%d", i, n%7), node: fmt.Sprint("n", n%3), label: fmt.Sprint(n % 5)}
				if c.deleted = n >= 14 && n%14 < 2; c.deleted {
					c.revision = w.drop(c.at)
				} else {
					c.revision = w.put(c.at, c.node, c.label)
				}
				logs[i] = append(logs[i], c)
			}
		})
	}
	shows := map[string]func(write) bool{
		"all":    func(write) bool { return true },
		"space":  func(c write) bool { return strings.HasPrefix(c.at, "s1/") },
		"object": func(c write) bool { return c.at == "s2/p3" },
		"node":   func(c write) bool { return c.node == "n1" },
		"label":  func(c write) bool { return c.label == "3" },
	}
	filters := map[string]watchcache.Filter{
		"all": {}, "space": {Namespace: "s1"}, "object": {Namespace: "s2", Name: "p3"}, "node": {HasIndex: true, Index: "n1"}, "label": {Match: withApp("3")},
	}
	live := map[string]*watchcache.Watcher{}
	for name, filter := range filters {
		live[name] = w.watch(watchcache.WatchOptions{Filter: filter, After: start})
	}
	results := make(chan string)
	for name, watcher := range live {
		go func() {
			var seen strings.Builder
			for {
				e, err := watcher.Next(w.ctx)
				if err != nil {
					results <- name + "\n" + err.Error()
					return
				}
				if e.Entry.Object.GetName() == "end" {
					results <- name + "\n" + seen.String()
					return
				}
				fmt.Fprintf(&seen, "%s %s/%s %d\n", e.Type, e.Entry.Object.GetNamespace(), e.Entry.Object.GetName(), e.Event.Revision)
			}
		}()
	}
	writing.Wait()
	var all []write
	for _, l := range logs {
		all = append(all, l...)
	}
	slices.SortFunc(all, func(a, b write) int { return cmp.Compare(a.revision, b.revision) })
	// The last event of everybody: it is of every namespace, node and label but the one object, which ends by itself.
	last := map[string]write{}
	want := map[string]*strings.Builder{}
	for name := range filters {
		want[name] = &strings.Builder{}
	}
	for _, c := range all {
		prev, existed := last[c.at]
		for name, show := range shows {
			was, is := existed && show(prev), !c.deleted && show(c)
			kind := map[[2]bool]string{{false, true}: "ADDED", {true, true}: "MODIFIED", {true, false}: "DELETED"}[[2]bool{was, is}]
			if kind != "" {
				fmt.Fprintf(want[name], "%s %s %d\n", kind, c.at, c.revision)
			}
		}
		last[c.at] = c
		if c.deleted {
			delete(last, c.at)
		}
	}
	w.put("s1/end", "n1", "3")
	live["object"].Close()
	for range filters {
		name, seen, _ := strings.Cut(<-results, "\n")
		if name == "object" {
			continue // read below: it has no event that ends it
		}
		if seen != want[name].String() {
			t.Errorf("%s: saw\n%s\nwant\n%s", name, seen, want[name])
		}
	}
	replay := w.watch(watchcache.WatchOptions{Filter: filters["object"], After: start})
	for _, line := range strings.Split(strings.TrimSpace(want["object"].String()), "\n") {
		w.expect(replay, line)
	}
}

// cutting is a store whose watches can be broken from outside.
type cutting struct {
	kv.KV
	mu   sync.Mutex
	open []kv.Watcher
}

func (c *cutting) Watch(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	w, err := c.KV.Watch(ctx, req)
	if err == nil {
		c.mu.Lock()
		c.open = append(c.open, w)
		c.mu.Unlock()
	}
	return w, err
}

func (c *cutting) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.open {
		w.Close()
	}
	c.open = nil
}

func TestTheStoreWatchResumes(t *testing.T) {
	m := memory.New(memory.Options{})
	t.Cleanup(m.Close)
	store := &cutting{KV: m}
	w := over(t, store, watchcache.Options{})
	start := w.put("default/a", "n1", "x")
	watcher := w.watch(watchcache.WatchOptions{After: start})
	store.cut()
	r2 := w.put("default/b", "n1", "x")
	r3 := w.put("default/c", "n1", "x")
	w.expect(watcher, line("ADDED", "default/b", r2), line("ADDED", "default/c", r3))
}

// When the store has forgotten what happened while the hub was away, watchers must not go on as if nothing had.
func TestCompactionEndsWatches(t *testing.T) {
	m := memory.New(memory.Options{})
	t.Cleanup(m.Close)
	clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	store := &cutting{KV: m}
	w := over(t, store, watchcache.Options{Clock: clock})
	start := w.put("default/a", "n1", "x")
	all := w.watch(watchcache.WatchOptions{After: start})
	indexed := w.watch(watchcache.WatchOptions{Filter: watchcache.Filter{HasIndex: true, Index: "n1"}, After: start})
	store.cut()
	for !clock.HasWaiters() { // the hub waits before it opens the watch again
	}
	w.put("default/b", "n1", "x")
	w.drop("default/a")
	last := w.put("default/c", "n1", "x")
	if err := m.Compact(w.ctx, last); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var stepping sync.WaitGroup
	stepping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				clock.Step(10 * time.Millisecond)
			}
		}
	})
	for _, watcher := range []*watchcache.Watcher{all, indexed} {
		if got := w.next(watcher); !strings.HasPrefix(got, "too old resource version") {
			t.Errorf("got %q", got)
		}
	}
	close(stop)
	stepping.Wait()
	r, err := w.pods.List(w.ctx, watchcache.ListOptions{ResourceVersion: "0"})
	if err != nil || len(r.Entries) != 2 || r.Revision != last {
		t.Errorf("after reading all again: %+v, %v", r, err)
	}
}

// An api that starts takes up what its predecessor's clients were watching.
func TestANewHubServesOldRevisions(t *testing.T) {
	w := newWorld(t, watchcache.Options{})
	r1 := w.put("default/a", "n1", "x")
	r2 := w.put("default/b", "n1", "x")
	second := over(t, w.kv, watchcache.Options{})
	if err := second.hub.Latest(w.ctx); err != nil {
		t.Fatal(err)
	}
	watcher := second.watch(watchcache.WatchOptions{After: r1})
	second.expect(watcher, line("ADDED", "default/b", r2))
}

func TestReadsSeeEarlierWrites(t *testing.T) {
	w := newWorld(t, watchcache.Options{})
	for i := range 200 {
		at := fmt.Sprint("default/", i)
		r := w.put(at, "", "x")
		e, err := w.pods.Get(w.ctx, pods+at, watchcache.Freshness{Latest: true})
		if err != nil || e == nil || e.Revision != r {
			t.Fatalf("write %d at %d: read %v, %v", i, r, e, err)
		}
	}
	// A write that the hub does not watch moves the store's revision too.
	if _, err := w.kv.Txn(w.ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/elsewhere"), Value: []byte("x")}}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.hub.Latest(w.ctx); err != nil {
		t.Fatal(err)
	}
}
