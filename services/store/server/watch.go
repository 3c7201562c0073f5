package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/watch"
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
	pace := s.pacing.pacer()
	// Ends with the stream, at the latest when this handler returns.
	go func() {
		for {
			r, err := stream.Recv()
			if err != nil {
				return
			}
			if r.GetProgress() == nil {
				continue
			}
			if w.RequestProgress() != nil {
				return
			}
			pace.soon() // somebody waits for what is there
		}
	}()
	return follow(ctx, stream, w, pace)
}

// encoder is a watcher that has events as messages.
type encoder interface {
	NextEncoded(ctx context.Context, pause func(context.Context)) (watch.Encoded, error)
}

// follow sends what the watch brings until it or the stream ends.
func follow(ctx context.Context, stream grpc.ServerStream, w kv.Watcher, pace *pacer) error {
	encoded, ok := w.(encoder)
	for {
		var out watch.Encoded
		var err error
		if ok {
			out, err = encoded.NextEncoded(ctx, pace.wait)
		} else {
			var resp kv.WatchResponse
			resp, err = w.Next(ctx)
			out.Revision = resp.Revision
			for i := range resp.Events {
				out.Events = append(out.Events, mem.SliceBuffer(wire.AppendEvent(nil, &resp.Events[i])))
			}
		}
		if err != nil {
			return wire.ToStatus(err)
		}
		if err := sendEvents(stream, &out); err != nil {
			return err
		}
	}
}

// sendEvents sends a response in one message, or in several when it is large.
func sendEvents(stream grpc.ServerStream, resp *watch.Encoded) error {
	rest := resp.Events
	for {
		n, size := 0, 0
		for n < len(rest) && size < part {
			size += rest[n].Len()
			n++
		}
		fragment := n < len(rest)
		var out wire.Pieces
		head := out.Open()
		*head = wire.AppendWatchHead(*head, resp.Revision, fragment)
		out.Share(rest[:n])
		if err := stream.SendMsg(out.Frame()); err != nil || !fragment {
			return err
		}
		rest = rest[n:]
	}
}
