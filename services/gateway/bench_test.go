package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/api/httpbody"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/pki"
)

func BenchmarkGet(b *testing.B) {
	w := newWorld(b, nil)
	c := w.client(pki.Admin)
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			resp, err := c.Get(w.url + "/api/v1/namespaces/default/pods/web")
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
}

// BenchmarkWatch delivers b.N events of 1 KiB in all to 200 watchers, with one client connection for all of them.
func BenchmarkWatch(b *testing.B) {
	const watchers = 200
	event := append(bytes.Repeat([]byte("e"), 1023), '\n')
	w := newWorld(b, nil)
	events := b.N/watchers + 1
	w.api.stream = func(_ call, s apiv1.RestService_StreamServer) error {
		for range events {
			if err := s.Send(&httpbody.HttpBody{ContentType: "application/json", Data: event}); err != nil {
				return err
			}
		}
		return nil
	}
	c := w.client(pki.Admin)
	b.SetBytes(int64(len(event)))
	b.ResetTimer()
	var wg sync.WaitGroup
	for range watchers {
		wg.Go(func() {
			resp, err := c.Get(w.url + "/api/v1/pods?watch=1")
			if err != nil {
				b.Error(err)
				return
			}
			n, err := io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if err != nil || n != int64(events*len(event)) {
				b.Errorf("%d bytes, %v", n, err)
			}
		})
	}
	wg.Wait()
}

// BenchmarkList reads a list of 16 MiB in pieces of 64 KiB.
func BenchmarkList(b *testing.B) {
	piece := bytes.Repeat([]byte(`{"metadata":{"name":"pod"}},`), 64<<10/28)
	w := newWorld(b, nil)
	w.api.stream = func(_ call, s apiv1.RestService_StreamServer) error {
		for range 256 {
			if err := s.Send(&httpbody.HttpBody{ContentType: "application/json", Data: piece}); err != nil {
				return err
			}
		}
		return nil
	}
	for _, encoding := range []string{"identity", "gzip"} {
		b.Run(encoding, func(b *testing.B) {
			c := w.client(pki.Admin)
			b.SetBytes(int64(256 * len(piece)))
			for range b.N {
				r, err := http.NewRequestWithContext(b.Context(), "GET", w.url+"/api/v1/pods", nil)
				must(b, err)
				r.Header.Set("Accept-Encoding", encoding)
				resp, err := c.Do(r)
				must(b, err)
				n, err := io.Copy(io.Discard, resp.Body)
				must(b, err)
				must(b, resp.Body.Close())
				if n == 0 {
					b.Fatal(fmt.Errorf("an empty list"))
				}
			}
		})
	}
}
