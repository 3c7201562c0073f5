package watch

import (
	"context"
	"sync"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

const (
	// maxPending is how many revisions a synced watcher may have waiting before it reads the log instead.
	maxPending = 512
	// A response is closed after the revision that brings it past either of these; a revision is never split.
	maxEvents = 1000
	maxBytes  = 1 << 20
	// scanStep is how many revisions of the log a lagging watcher looks at before it looks at its context.
	scanStep = 4096
)

// Watcher implements kv.Watcher. One goroutine at a time may call Next.
type Watcher struct {
	hub *Hub
	req kv.WatchRequest
	// from is the revision before the first one to deliver.
	from int64
	// signal wakes Next; it holds at most one wake-up.
	signal chan struct{}

	mu sync.Mutex
	// pos: everything at or before it that concerns this watcher has been handed to Next.
	pos int64
	// synced: every revision after pos that concerns this watcher and that the hub has told is in pending, in order.
	synced  bool
	pending []int64
	// offered is the newest revision that was ever put on pending. The hub offers a revision once for each key in it, and Next may take the list in
	// between.
	offered int64
	// quiet: nothing was delivered since the last tick.
	quiet    bool
	progress bool
	err      error
}

var _ kv.Watcher = (*Watcher)(nil)

// StartsAfter is the revision before the first one that the watch delivers.
func (w *Watcher) StartsAfter() int64 { return w.from }

// offer notes that rev concerns the watcher. The hub calls it in revision order, under its lock.
func (w *Watcher) offer(rev int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.synced || rev <= w.pos || rev <= w.offered {
		return // a lagging watcher finds it in the log; others have it already
	}
	if len(w.pending) == maxPending {
		w.pos = w.pending[0] - 1
		w.synced, w.pending = false, nil
		return
	}
	w.pending, w.offered = append(w.pending, rev), rev
	w.wake()
}

func (w *Watcher) lag(expire bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 {
		w.pos = w.pending[0] - 1
	}
	w.synced, w.pending = false, nil
	if expire && w.err == nil {
		w.err = &kv.ExpiredError{Revision: w.pos}
	}
	w.wake()
}

func (w *Watcher) tick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.quiet {
		w.progress = true
		w.wake()
	}
	w.quiet = true
}

// end makes Next return err once.
func (w *Watcher) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.wake()
}

func (w *Watcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// RequestProgress implements kv.Watcher.
func (w *Watcher) RequestProgress() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.progress = true
	w.wake()
	return nil
}

// Close implements kv.Watcher.
func (w *Watcher) Close() {
	w.end(kv.ErrClosed)
	w.hub.remove(w)
}

// Next implements kv.Watcher.
func (w *Watcher) Next(ctx context.Context) (kv.WatchResponse, error) {
	for {
		resp, wait, err := w.step()
		if err != nil || resp.Revision != 0 {
			return resp, err
		}
		if !wait {
			if err := ctx.Err(); err != nil {
				return kv.WatchResponse{}, err
			}
			continue
		}
		select {
		case <-w.signal:
		case <-ctx.Done():
			return kv.WatchResponse{}, ctx.Err()
		}
	}
}

// step does a bounded piece of work: it returns a response, or says whether to wait for a signal or to go on.
func (w *Watcher) step() (resp kv.WatchResponse, wait bool, err error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return resp, false, w.err
	}
	if !w.synced {
		pos := w.pos
		w.mu.Unlock()
		return w.readLog(pos)
	}
	// Everything that the hub told before this is in pending: told moves after the offers of its revision.
	told := w.hub.told.Load()
	if len(w.pending) == 0 {
		defer w.mu.Unlock()
		if w.progress && told >= w.from {
			w.progress = false
			return kv.WatchResponse{Revision: told}, false, nil
		}
		return resp, true, nil
	}
	revs := w.take()
	w.mu.Unlock()
	return w.readPending(revs)
}

// take empties pending into the hands of Next. mu is held.
func (w *Watcher) take() []int64 {
	revs := w.pending
	w.pending = nil
	return revs
}

// readPending makes a response of revisions that are known to concern the watcher.
func (w *Watcher) readPending(revs []int64) (kv.WatchResponse, bool, error) {
	view := w.hub.View()
	b := builder{w: w}
	done := 0
	for done < len(revs) && !b.full() {
		if revs[done] < view.CompactRevision() {
			break
		}
		b.add(view.Changes(revs[done]))
		done++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case done == 0:
		// Compaction was faster. What was delivered ends before the first of the list.
		w.err = &kv.ExpiredError{Revision: max(w.pos, revs[0]-1)}
		return kv.WatchResponse{}, false, w.err
	case !w.synced:
		// The hub gave up on the list meanwhile and reset pos from what was on it then, all of it after revs.
	case done < len(revs):
		w.pending = append(revs[done:], w.pending...)
		if len(w.pending) > maxPending {
			w.synced, w.pending = false, nil
		}
	}
	return w.deliver(&b, revs[done-1])
}

// readLog looks at the next piece of the log.
func (w *Watcher) readLog(pos int64) (kv.WatchResponse, bool, error) {
	view := w.hub.View()
	if pos+1 < view.CompactRevision() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = &kv.ExpiredError{Revision: pos}
		return kv.WatchResponse{}, false, w.err
	}
	b := builder{w: w}
	end := min(view.Revision(), pos+scanStep)
	rev := pos
	for rev < end && !b.full() {
		rev++
		b.add(view.Changes(rev))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Caught up only if nothing was committed since: the hub stores the view first and then takes this lock for each
	// offer, so what comes after this check is offered and what came before it is seen here.
	if rev >= w.hub.View().Revision() {
		w.synced = true
	}
	return w.deliver(&b, max(rev, pos))
}

// deliver moves the position to rev, up to which b is complete. mu is held.
func (w *Watcher) deliver(b *builder, rev int64) (kv.WatchResponse, bool, error) {
	w.pos = rev
	if len(b.events) == 0 {
		return kv.WatchResponse{}, false, nil
	}
	w.quiet = false
	return kv.WatchResponse{Revision: rev, Events: b.events}, false, nil
}

// builder gathers the events of whole revisions.
type builder struct {
	w      *Watcher
	events []kv.Event
	bytes  int
}

func (b *builder) full() bool { return len(b.events) >= maxEvents || b.bytes >= maxBytes }

func (b *builder) add(changes []mvcc.Change) {
	req := &b.w.req
	for _, c := range changes {
		if (c.Deleted() && req.NoDelete) || (!c.Deleted() && req.NoPut) || !mvcc.Contains(req.Key, req.End, c.Key()) {
			continue
		}
		e := c.Event(req.PrevKV)
		b.events = append(b.events, e)
		b.bytes += len(e.KV.Key) + len(e.KV.Value) + 64
		if e.PrevKV != nil {
			b.bytes += len(e.PrevKV.Value)
		}
	}
}
