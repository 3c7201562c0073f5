package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// watcher is one watch over one stream after another.
type watcher struct {
	c      *Client
	req    kv.WatchRequest
	ctx    context.Context
	cancel context.CancelFunc
	// out hands responses over, one at a time: who reads slowly slows the stream down, not the store. It is closed
	// when the watch has ended; err says why.
	out  chan kv.WatchResponse
	err  error
	done chan struct{}

	// pos is the last revision that was delivered whole; the reader's.
	pos int64

	mu     sync.Mutex
	stream storev1.StoreService_WatchClient
	// progress: a notice was asked for and has not come.
	progress bool
}

// Watch implements kv.KV. The watch lives until Close, whatever becomes of ctx.
func (c *Client) Watch(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req.Key, req.End = bytes.Clone(req.Key), bytes.Clone(req.End)
	if req.StartRevision == 0 {
		return c.join(ctx, req)
	}
	return asWatcher(c.follow(ctx, req))
}

// asWatcher keeps a nil *watcher from becoming a kv.Watcher that is not nil.
func asWatcher(w *watcher, err error) (kv.Watcher, error) {
	if err != nil {
		return nil, err
	}
	return w, nil
}

// follow opens a watch of its own.
func (c *Client) follow(ctx context.Context, req kv.WatchRequest) (*watcher, error) {
	w := &watcher{c: c, req: req, pos: -1, out: make(chan kv.WatchResponse), done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(c.ctx)
	created := make(chan struct{})
	go w.run(created)
	select {
	case <-created:
		return w, nil
	case <-w.done:
		return nil, w.err
	case <-ctx.Done():
		w.Close()
		return nil, ctx.Err()
	}
}

// Next implements kv.Watcher.
func (w *watcher) Next(ctx context.Context) (kv.WatchResponse, error) {
	select {
	case <-w.done:
		return kv.WatchResponse{}, w.err
	default:
	}
	select {
	case resp := <-w.out:
		return resp, nil
	case <-w.done:
		return kv.WatchResponse{}, w.err
	case <-ctx.Done():
		return kv.WatchResponse{}, ctx.Err()
	}
}

// RequestProgress implements kv.Watcher.
func (w *watcher) RequestProgress() error {
	select {
	case <-w.done:
		return w.err
	default:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress = true
	if w.stream != nil {
		w.askProgress()
	}
	return nil
}

// askProgress asks on the present stream; when that is broken the next one asks again. mu is held.
func (w *watcher) askProgress() {
	_ = w.stream.Send(&storev1.WatchRequest{Request: &storev1.WatchRequest_Progress{Progress: &storev1.WatchProgress{}}})
}

// Close implements kv.Watcher.
func (w *watcher) Close() {
	w.cancel()
	<-w.done
}

// run opens one stream after another until one ends for good.
func (w *watcher) run(created chan struct{}) {
	defer close(w.done)
	defer w.cancel()
	wait := pause
	for {
		got, err := w.follow(created)
		if got {
			created, wait = nil, pause
		}
		err = wire.FromStatus(w.ctx, err)
		switch {
		case w.ctx.Err() != nil:
			w.err = kv.ErrClosed
			return
		case errors.Is(err, kv.ErrClosed), errors.Is(err, kv.ErrNoLeader), wire.Disconnected(err):
			// The member went away or is no use now: another one goes on from pos.
		default:
			var expired *kv.ExpiredError
			if errors.As(err, &expired) && w.pos > 0 {
				err = &kv.ExpiredError{Revision: w.pos}
			} else if errors.Is(err, kv.ErrCompacted) && w.pos > 0 && created == nil {
				err = &kv.ExpiredError{Revision: w.pos} // compacted while there was no stream
			}
			w.err = err
			return
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, time.Second)
		case <-w.ctx.Done():
		}
	}
}

// follow opens a stream and delivers from it until it ends. got says whether the watch was registered; the first time
// created is closed.
func (w *watcher) follow(created chan struct{}) (got bool, err error) {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	req := w.req
	if w.pos >= 0 {
		req.StartRevision = w.pos + 1
	}
	stream, err := w.c.store.Watch(ctx, waitForReady)
	if err != nil {
		return false, err
	}
	if err := stream.Send(wire.FromWatch(&req)); err != nil {
		_, err = stream.Recv() // has the reason
		return false, err
	}
	first, err := stream.Recv()
	if err != nil {
		return false, err
	}
	if !first.Created {
		return false, fmt.Errorf("the store began a watch with an event: it does not speak this protocol")
	}
	if w.pos < 0 {
		w.pos = first.Revision
	}
	w.mu.Lock()
	w.stream = stream
	if w.progress {
		w.askProgress()
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.stream = nil
		w.mu.Unlock()
	}()
	if created != nil {
		close(created)
	}
	var resp kv.WatchResponse
	var in wire.Loan
	for {
		if err := stream.RecvMsg(&in); err != nil {
			return true, err
		}
		had := len(resp.Events)
		var m wire.WatchMessage
		m, resp.Events, err = wire.DecodeWatchResponse(in.Data(), resp.Events)
		wire.CloneEvents(resp.Events[had:]) // a watcher may keep one of them for long
		in.Return()
		if err != nil {
			return true, err
		}
		if m.Fragment {
			continue
		}
		resp.Revision = m.Revision
		if len(resp.Events) == 0 {
			w.mu.Lock()
			w.progress = false
			w.mu.Unlock()
		}
		select {
		case w.out <- resp:
		case <-ctx.Done():
			return true, ctx.Err()
		}
		w.pos, resp = resp.Revision, kv.WatchResponse{}
	}
}
