package apiclient

import (
	"context"
	"fmt"
	"io"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Event is one change. For a BOOKMARK Object has no more than its metadata's resourceVersion and annotations.
type Event[T Object] struct {
	Type   watch.EventType
	Object T
	// TraceParent is the W3C trace context of the write that caused the event; empty when it had none.
	TraceParent string
}

// Watch is an open watch, to be read by one goroutine.
type Watch[T Object] struct {
	stream grpc.ClientStream
	cancel context.CancelFunc
	next   func() T
}

// Watch opens a watch. It is over when ctx is; Close ends it earlier.
func (r Resource[T, L]) Watch(ctx context.Context, options metav1.ListOptions) (*Watch[T], error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := r.conn.NewStream(ctx, &grpc.StreamDesc{StreamName: "Watch", ServerStreams: true}, r.path("Watch"))
	if err == nil {
		err = stream.SendMsg(&wire.ListRequest{Namespace: r.namespace, Options: options})
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err != nil {
		cancel()
		return nil, apistatus.FromGRPC(err)
	}
	return &Watch[T]{stream: stream, cancel: cancel, next: r.newObject}, nil
}

// Recv blocks for the next event. It returns io.EOF when the server ends the watch in order (open another from the last
// resourceVersion), or a *StatusError: 410 Expired or Gone means to list again.
func (w *Watch[T]) Recv() (Event[T], error) {
	var frame wire.Event
	for {
		frame = wire.Event{}
		if err := w.stream.RecvMsg(&frame); err != nil {
			if err == io.EOF {
				return Event[T]{}, io.EOF
			}
			return Event[T]{}, apistatus.FromGRPC(err)
		}
		if frame.Type != "" {
			break
		}
		// A frame without a type only says that the watch has begun.
	}
	if frame.Type == string(watch.Error) {
		if frame.Status == nil {
			frame.Status = &metav1.Status{Status: metav1.StatusFailure, Code: 500, Reason: metav1.StatusReasonInternalError, Message: "the watch ended with an error that names no status"}
		}
		return Event[T]{}, statusError(frame.Status)
	}
	obj := w.next()
	if err := obj.Unmarshal(frame.Object); err != nil {
		return Event[T]{}, fmt.Errorf("decoding a watched %T: %w", obj, err)
	}
	return Event[T]{Type: watch.EventType(frame.Type), Object: obj, TraceParent: frame.TraceParent}, nil
}

// Close ends the watch; a blocked Recv returns.
func (w *Watch[T]) Close() { w.cancel() }

func statusError(s *metav1.Status) error { return &apierrors.StatusError{ErrStatus: *s} }
