package watchcache_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/store/kv"
)

// BenchmarkFanOut is the cost of one pod event, from the store's watch to the frames that all watchers send.
func BenchmarkFanOut(b *testing.B) {
	for _, c := range []struct{ all, nodes int }{{1, 0}, {200, 0}, {0, 5000}, {10, 5000}} {
		b.Run(fmt.Sprintf("all=%d,nodes=%d", c.all, c.nodes), func(b *testing.B) {
			w := newWorld(b, watchcache.Options{WindowMin: 1 << 15})
			start := w.put("default/first", "", "x")
			var group sync.WaitGroup
			last := make(chan int64)
			follow := func(watcher *watchcache.Watcher, until <-chan int64) {
				group.Go(func() {
					for {
						e, err := watcher.Next(w.ctx)
						if err != nil {
							return
						}
						_ = e.Event.Typed(e.Type).Buffers()
						if e.Entry.Object.GetName() == "end" {
							return
						}
					}
				})
			}
			for range c.all {
				follow(w.watch(watchcache.WatchOptions{After: start}), last)
			}
			for i := range c.nodes {
				follow(w.watch(watchcache.WatchOptions{Filter: watchcache.Filter{HasIndex: true, Index: fmt.Sprint("n", i)}, After: start}), last)
			}
			value, err := w.kv.Range(w.ctx, kv.RangeRequest{Key: []byte(pods + "default/first")})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				key := fmt.Append(nil, pods, "default/p", i%1000)
				if _, err := w.kv.Txn(w.ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key, Value: value.KVs[0].Value}}}}); err != nil {
					b.Fatal(err)
				}
			}
			w.put("default/end", "", "x")
			if c.nodes > 0 {
				for i := range c.nodes {
					w.put("default/end", fmt.Sprint("n", i), "x")
				}
			}
			group.Wait()
			b.StopTimer()
		})
	}
}

// BenchmarkConsistentGet is a get that sees every earlier write, of many at once.
func BenchmarkConsistentGet(b *testing.B) {
	w := newWorld(b, watchcache.Options{})
	w.put("default/a", "", "x")
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if e, err := w.pods.Get(w.ctx, pods+"default/a", watchcache.Freshness{Latest: true}); err != nil || e == nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkList is a list of 10,000 pods, whole and by node, while one of them changes.
func BenchmarkList(b *testing.B) {
	w := newWorld(b, watchcache.Options{})
	for i := range 10000 {
		w.put(fmt.Sprint("default/p", i), fmt.Sprint("n", i%100), "x")
	}
	for name, o := range map[string]watchcache.ListOptions{
		"all": {}, "node": {Filter: watchcache.Filter{HasIndex: true, Index: "n7"}}, "label": {Filter: watchcache.Filter{Match: withApp("y")}},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.put("default/p1", "n1", fmt.Sprint(time.Now().UnixNano()))
				if _, err := w.pods.List(w.ctx, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
