package server

import (
	"google.golang.org/grpc"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Watch implements StoreService. The stream ends with the watch: with OutOfRange when its history is gone, with
// Unavailable when this member stops; then the client goes on from its last revision elsewhere.
func (s *Store) Watch(stream grpc.BidiStreamingServer[storev1.WatchRequest, storev1.WatchResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	req, err := wire.ToWatch(first)
	if err != nil {
		return wire.ToStatus(err)
	}
	ctx := stream.Context()
	w, err := s.kv.Watch(ctx, req)
	if err != nil {
		return wire.ToStatus(err)
	}
	defer w.Close()
	created := &storev1.WatchResponse{Created: true}
	if p, ok := w.(interface{ StartsAfter() int64 }); ok {
		created.Revision = p.StartsAfter()
	}
	if err := stream.Send(created); err != nil {
		return err
	}
	// Ends with the stream, at the latest when this handler returns.
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			if r.GetProgress() != nil && w.RequestProgress() != nil {
				return
			}
		}
	}()
	for {
		resp, err := w.Next(ctx)
		if err != nil {
			return wire.ToStatus(err)
		}
		if err := sendEvents(stream, &resp); err != nil {
			return err
		}
	}
}

// sendEvents sends a response in one message, or in several when it is large.
func sendEvents(stream grpc.BidiStreamingServer[storev1.WatchRequest, storev1.WatchResponse], resp *kv.WatchResponse) error {
	rest := resp.Events
	for {
		n, size := 0, 0
		for n < len(rest) && size < part {
			size += len(rest[n].KV.Key) + len(rest[n].KV.Value) + 64
			if p := rest[n].PrevKV; p != nil {
				size += len(p.Key) + len(p.Value) + 64
			}
			n++
		}
		out := &storev1.WatchResponse{Revision: resp.Revision, Events: wire.FromEvents(rest[:n]), Fragment: n < len(rest)}
		if err := stream.Send(out); err != nil || !out.Fragment {
			return err
		}
		rest = rest[n:]
	}
}
