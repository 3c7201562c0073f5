package watch_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/watch"
)

// BenchmarkWatchMemory reports what a watch holds that does not read, after so many revisions that concern it.
func BenchmarkWatchMemory(b *testing.B) {
	for _, unread := range []int{0, 500, 10_000} {
		b.Run(fmt.Sprintf("unread=%d", unread), func(b *testing.B) {
			const n = 1000
			for b.Loop() {
				s := mvcc.New()
				hub := watch.NewHub(s.View())
				for range n {
					if _, err := hub.Watch(kv.WatchRequest{Key: []byte("/w/"), End: []byte("/w0")}); err != nil {
						b.Fatal(err)
					}
				}
				for range unread {
					if _, err := s.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/w/x"), Value: []byte("v")}}}}, 0); err != nil {
						b.Fatal(err)
					}
					hub.Commit(s.View())
				}
				with := heap()
				hub.Close()
				hub = nil
				without := heap()
				runtime.KeepAlive(s) // the history is the store's
				b.ReportMetric(float64(with-without)/n, "B/watch")
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
