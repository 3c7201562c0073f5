package store_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
)

// benchService runs one member for a benchmark and returns a client.
func benchService(b *testing.B) *client.Client {
	s, err := store.New(store.Config{DataDir: b.TempDir(), Logger: discard})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	<-s.Ready()
	c, err := client.New(client.Config{Endpoints: []string{s.Addr()}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		c.Close()
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return c
}

// BenchmarkPut writes values of 1 KB from many clients.
func BenchmarkPut(b *testing.B) {
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			c := benchService(b)
			value := make([]byte, 1024)
			var n atomic.Int64
			b.SetParallelism(clients)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					key := fmt.Appendf(nil, "/registry/pods/default/web-%d", n.Add(1))
					if _, err := c.Txn(context.Background(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: key, Value: value}}}}); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "puts/s")
		})
	}
}

// BenchmarkRange reads 10,000 values of 1 KB.
func BenchmarkRange(b *testing.B) {
	c := benchService(b)
	ctx := context.Background()
	for i := range 100 {
		var ops []kv.Op
		for k := range 100 {
			ops = append(ops, kv.Op{Put: &kv.PutRequest{Key: fmt.Appendf(nil, "/r/%d-%d", i, k), Value: make([]byte, 1024)}})
		}
		if _, err := c.Txn(ctx, kv.TxnRequest{Then: ops}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		r, err := c.Range(ctx, kv.RangeRequest{Key: []byte("/r/"), End: kv.PrefixEnd([]byte("/r/"))})
		if err != nil || len(r.KVs) != 10_000 {
			b.Fatal(len(r.KVs), err)
		}
	}
}

// BenchmarkRevision asks for the newest revision, as every consistent read of a cache does.
func BenchmarkRevision(b *testing.B) {
	c := benchService(b)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.Revision(context.Background()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// BenchmarkIdleWatch reports what an open watch of its own range costs the client and the member together: streams,
// goroutines and buffers.
func BenchmarkIdleWatch(b *testing.B) {
	c := benchService(b)
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc + m.StackInuse)
	}
	for b.Loop() {
		const n = 1000
		before := held()
		for i := range n {
			w, err := c.Watch(context.Background(), kv.WatchRequest{Key: fmt.Appendf(nil, "/w/%d", i)})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
		}
		b.ReportMetric(float64(held()-before)/n, "B/watch")
	}
}
