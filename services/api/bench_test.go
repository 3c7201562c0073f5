package api

import (
	"fmt"
	"io"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/pki"
)

// BenchmarkWatchFanout is what one write costs with a hundred watchers, by front: until each of them has the event.
func BenchmarkWatchFanout(b *testing.B) {
	const watchers = 100
	for _, front := range []string{"typed", "rest"} {
		b.Run(front, func(b *testing.B) {
			h := start(b)
			var seen sync.WaitGroup
			conns := make([]*rest, 8)
			clients := make([]*apiclient.Client, 8)
			for i := range conns {
				conns[i] = h.rest(pki.Admin)
				clients[i] = apiclient.New(conns[i].conn)
			}
			for i := range watchers {
				if front == "typed" {
					w, err := clients[i%8].ConfigMaps("default").Watch(h.ctx, metav1.ListOptions{})
					if err != nil {
						b.Fatal(err)
					}
					go func() {
						for {
							if _, err := w.Recv(); err != nil {
								return
							}
							seen.Done()
						}
					}()
					continue
				}
				next, stop := conns[i%8].frames("/api/v1/namespaces/default/configmaps?watch=1")
				b.Cleanup(stop)
				go func() {
					for {
						if f, err := next(); err != nil || f.data == nil || err == io.EOF {
							return
						}
						seen.Done()
					}
				}()
			}
			r := conns[0]
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				seen.Add(watchers)
				r.must("Create", "/api/v1/namespaces/default/configmaps", "application/json", fmt.Sprintf(`{"metadata":{"name":"cm-%d"},"data":{"a":"b"}}`, i))
				seen.Wait()
			}
			b.StopTimer()
			if err := h.stop(); err != nil {
				b.Error(err)
			}
		})
	}
}
