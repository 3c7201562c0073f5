package watch

import (
	"context"
	"sync"

	"google.golang.org/grpc/mem"

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
	// list is NextEncoded's, from one call to the next.
	list mem.BufferSlice

	mu sync.Mutex
	// pos: everything at or before it that concerns this watcher has been handed to Next.
	pos int64
	// synced: every revision after pos that concerns this watcher and that the hub has told is in pending, in order.
	synced  bool
	pending []int64
	// offered is the newest revision that was ever put on pending. The hub offers a revision once for each key in it, and Next may take the list in
	// between.
	offered int64
	// more: the response before was full, and what is first on pending did not fit.
	more bool
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
		w.expire(w.pos)
	}
	w.wake()
}

// expire ends the watch after rev, up to which it was delivered whole. mu is held.
func (w *Watcher) expire(rev int64) {
	w.err = &kv.ExpiredError{Revision: rev}
	w.hub.expired.Add(1)
}

// lags reports whether the watcher reads the log.
func (w *Watcher) lags() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.synced && w.err == nil
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
	b := builder{w: w}
	rev, err := w.next(ctx, &b, nil)
	return kv.WatchResponse{Revision: rev, Events: b.events}, err
}

// next fills b, which is empty, with the next response and returns its revision. pause, if there is one, is called once when new
// events are there.
func (w *Watcher) next(ctx context.Context, b *builder, pause func(context.Context)) (int64, error) {
	for {
		if pause != nil && w.fresh() {
			pause(ctx)
			pause = nil
		}
		rev, wait, err := w.step(b)
		if err != nil || rev != 0 {
			return rev, err
		}
		if !wait {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			continue
		}
		select {
		case <-w.signal:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// fresh reports whether events have come to a watcher that had had all: not what a full response left over, nor a log to read.
func (w *Watcher) fresh() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err == nil && w.synced && len(w.pending) > 0 && !w.more
}

// step does a bounded piece of work: it fills b with a response and returns its revision, or says whether to wait for a signal
// or to go on.
func (w *Watcher) step(b *builder) (rev int64, wait bool, err error) {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return 0, false, w.err
	}
	if !w.synced {
		pos := w.pos
		w.mu.Unlock()
		return w.readLog(b, pos)
	}
	// Everything that the hub told before this is in pending: told moves after the offers of its revision.
	told := w.hub.told.Load()
	if len(w.pending) == 0 {
		defer w.mu.Unlock()
		if w.progress && told >= w.from {
			w.progress = false
			return told, false, nil
		}
		return 0, true, nil
	}
	revs := w.take()
	w.mu.Unlock()
	return w.readPending(b, revs)
}

// take empties pending into the hands of Next. mu is held.
func (w *Watcher) take() []int64 {
	revs := w.pending
	w.pending = nil
	return revs
}

// readPending makes a response of revisions that are known to concern the watcher.
func (w *Watcher) readPending(b *builder, revs []int64) (int64, bool, error) {
	view := w.hub.View()
	done := 0
	for done < len(revs) && !b.full() {
		if revs[done] < view.CompactRevision() {
			break
		}
		b.add(revs[done], view.Changes(revs[done]))
		done++
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.more = done < len(revs)
	switch {
	case done == 0:
		// Compaction was faster. What was delivered ends before the first of the list.
		w.expire(max(w.pos, revs[0]-1))
		return 0, false, w.err
	case !w.synced:
		// The hub gave up on the list meanwhile and reset pos from what was on it then, all of it after revs.
	case done < len(revs):
		w.pending = append(revs[done:], w.pending...)
		if len(w.pending) > maxPending {
			w.synced, w.pending = false, nil
		}
	}
	return w.deliver(b, revs[done-1])
}

// readLog looks at the next piece of the log.
func (w *Watcher) readLog(b *builder, pos int64) (int64, bool, error) {
	view := w.hub.View()
	if pos+1 < view.CompactRevision() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.expire(pos)
		return 0, false, w.err
	}
	end := min(view.Revision(), pos+scanStep)
	rev := pos
	for rev < end && !b.full() {
		rev++
		b.add(rev, view.Changes(rev))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	// Caught up only if nothing was committed since: the hub stores the view first and then takes this lock for each
	// offer, so what comes after this check is offered and what came before it is seen here.
	if rev >= w.hub.View().Revision() {
		w.synced = true
	}
	return w.deliver(b, max(rev, pos))
}

// deliver moves the position to rev, up to which b is complete. mu is held.
func (w *Watcher) deliver(b *builder, rev int64) (int64, bool, error) {
	w.pos = rev
	if b.count == 0 {
		return 0, false, nil
	}
	w.quiet = false
	return rev, false, nil
}

// builder gathers the events of whole revisions, as values or as messages.
type builder struct {
	w       *Watcher
	encode  bool
	events  []kv.Event
	encoded mem.BufferSlice
	count   int
	bytes   int
}

func (b *builder) full() bool { return b.count >= maxEvents || b.bytes >= maxBytes }

func (b *builder) add(rev int64, changes []mvcc.Change) {
	req := &b.w.req
	var encoded mem.BufferSlice
	for i, c := range changes {
		if (c.Deleted() && req.NoDelete) || (!c.Deleted() && req.NoPut) || !mvcc.Contains(req.Key, req.End, c.Key()) {
			continue
		}
		b.count++
		if b.encode {
			if encoded == nil {
				encoded = b.w.hub.encodings(req.PrevKV).get(rev, changes, req.PrevKV)
			}
			b.encoded = append(b.encoded, encoded[i])
			b.bytes += encoded[i].Len()
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
