package watchcache

import (
	"context"
	"sync"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
)

// freshnessLimit is how long a read waits for a revision that the caches have not seen.
const freshnessLimit = 3 * time.Second

// Latest waits until the caches reflect every write that was acknowledged before the call.
func (h *Hub) Latest(ctx context.Context) error {
	if err := h.waitReady(ctx); err != nil {
		return err
	}
	revision, err := h.newest.read(ctx)
	if err != nil {
		return storeError(err)
	}
	return h.WaitFor(ctx, revision)
}

// WaitFor waits until the caches reflect revision: for three seconds, then it returns the 504 that names it too large.
func (h *Hub) WaitFor(ctx context.Context, revision int64) error {
	if h.revision.Load() >= revision {
		return nil
	}
	if err := h.waitReady(ctx); err != nil {
		return err
	}
	limit := h.opts.Clock.NewTimer(freshnessLimit)
	defer limit.Stop()
	for {
		changed := h.advanced.wait()
		if h.revision.Load() >= revision {
			return nil
		}
		// The write may lie outside of what is watched, or its event be on its way: the notice comes after either.
		h.requestProgress()
		select {
		case <-changed:
		case <-ctx.Done():
			return contextError(ctx)
		case <-h.stopped:
			return errShuttingDown()
		case <-limit.C():
			return errTooLarge(revision, h.revision.Load())
		}
	}
}

func (h *Hub) waitReady(ctx context.Context) error {
	select {
	case <-h.ready:
		return nil
	default:
	}
	limit := h.opts.Clock.NewTimer(freshnessLimit)
	defer limit.Stop()
	select {
	case <-h.ready:
		return nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-h.stopped:
		return errShuttingDown()
	case <-limit.C():
		return errNotReady()
	}
}

// requestProgress asks the store for a progress notice unless one is on its way.
func (h *Hub) requestProgress() {
	w := h.stream.Load()
	if w == nil || !h.asked.CompareAndSwap(false, true) {
		return
	}
	if err := (*w).RequestProgress(); err != nil {
		// The stream is broken, which its reader finds out.
		h.asked.Store(false)
	}
}

// revisionReader reads the store's newest revision for many callers with few calls: those who come while a call is under way
// share the next one, since the answer of the present one may be older than their own writes.
type revisionReader struct {
	kv      kv.KV
	mu      sync.Mutex
	next    *revisionCall
	running bool
	group   sync.WaitGroup
}

type revisionCall struct {
	done     chan struct{}
	revision int64
	err      error
}

func (r *revisionReader) read(ctx context.Context) (int64, error) {
	r.mu.Lock()
	call := r.next
	if call == nil {
		call = &revisionCall{done: make(chan struct{})}
		r.next = call
	}
	if !r.running {
		r.running = true
		// The caller's context would end the call for everybody else.
		shared := context.WithoutCancel(ctx)
		r.group.Go(func() { r.run(shared) })
	}
	r.mu.Unlock()
	select {
	case <-call.done:
		return call.revision, call.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (r *revisionReader) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		r.mu.Lock()
		call := r.next
		r.next = nil
		if call == nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		call.revision, call.err = r.kv.Revision(ctx)
		close(call.done)
	}
}

func (r *revisionReader) wait() { r.group.Wait() }
