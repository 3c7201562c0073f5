package watchcache

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/object"
)

// WatchEvent is what one watcher sees. Exactly one of Event and Bookmark is set.
type WatchEvent struct {
	// Type is the type for this watcher: a change that enters or leaves its selector is ADDED or DELETED. When a selector turns a
	// change into DELETED, Entry is the version before with the change's revision.
	Type  watch.EventType
	Event *object.Event
	// Entry is the object to show; Event.Entry except where Type is DELETED because of a selector.
	Entry *object.Entry
	// Bookmark carries the revision up to which everything was delivered.
	Bookmark *Bookmark
}

// Bookmark is a BOOKMARK event's content.
type Bookmark struct {
	Revision int64
	// InitialEventsEnd marks the end of the initial events of a streaming list (k8s.io/initial-events-end).
	InitialEventsEnd bool
}

// fetchMax is how many events a watcher takes out of the window at a time.
const fetchMax = 64

// Watcher is an open watch. One goroutine calls Next; Close may be called by any.
type Watcher struct {
	cache   *Cache
	filter  compiled
	indexed bool
	// after is the revision that the watch starts behind; newer than the cache's when the client has seen a newer one.
	after     int64
	bookmarks bool
	// generation is that of the cache when the watch began.
	generation uint64

	// What follows belongs to Next's caller.

	initial    []*object.Entry
	initialEnd bool
	batch      []*object.Event
	read       int
	// complete is the revision up to which everything was returned, once batch is empty.
	complete   int64
	endAt      time.Time
	bookmarkAt time.Time
	timer      clock.Timer
	timerAt    time.Time
	err        error

	// mu guards what dispatch and Next share. parked: the window from number next on is what comes after pending;
	// else pending is all that there is, and events before next have been read out of the window.
	mu      sync.Mutex
	parked  bool
	next    uint64
	pending []*object.Event
	wake    chan struct{}

	closing sync.Once
	closed  chan struct{}
}

// offer hands an event to a watcher that keeps up, and parks it when it does not.
func (w *Watcher) offer(n uint64, e *object.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parked || n < w.next {
		return
	}
	if len(w.pending) >= w.cache.hub.opts.PendingMax {
		w.parked, w.next = true, n
		return
	}
	w.pending = append(w.pending, e)
	w.poke()
}

func (w *Watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// expire makes the watcher look at the window, whose generation tells it that the watch is over.
func (w *Watcher) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parked = true
	w.poke()
}

// Next blocks for the next event. It returns io.EOF when the watch's time is over, or a *StatusError such as 410 Expired,
// after which the watch is done.
func (w *Watcher) Next(ctx context.Context) (WatchEvent, error) {
	for {
		if e, ok := w.ready(); ok {
			return e, nil
		}
		if w.err != nil {
			return WatchEvent{}, w.err
		}
		changed, found := w.fetch()
		now := w.cache.hub.opts.Clock.Now()
		if !now.Before(w.endAt) {
			return w.end(io.EOF)
		}
		if found {
			continue
		}
		if w.bookmarks && !now.Before(w.bookmarkAt) {
			if e, ok := w.bookmark(now); ok {
				return e, nil
			}
		}
		if err := w.wait(ctx, changed); err != nil {
			return w.end(err)
		}
	}
}

// ready is what can be returned without looking any further.
func (w *Watcher) ready() (WatchEvent, bool) {
	if len(w.initial) > 0 {
		e := w.initial[0]
		w.initial = w.initial[1:]
		return WatchEvent{Type: watch.Added, Event: e.Initial(), Entry: e}, true
	}
	if w.initialEnd {
		w.initial, w.initialEnd = nil, false
		return WatchEvent{Type: watch.Bookmark, Bookmark: &Bookmark{Revision: w.complete, InitialEventsEnd: true}}, true
	}
	for w.read < len(w.batch) {
		e := w.batch[w.read]
		w.batch[w.read] = nil
		w.read++
		if e.Revision <= w.after {
			continue
		}
		w.complete = max(w.complete, e.Revision)
		if t, ok := w.filter.see(e); ok {
			return WatchEvent{Type: t, Event: e, Entry: e.Shown(t)}, true
		}
	}
	return WatchEvent{}, false
}

// bookmark is due: it says how far the watch is, unless it began before there was any revision.
func (w *Watcher) bookmark(now time.Time) (WatchEvent, bool) {
	w.scheduleBookmark(now)
	if w.complete == 0 {
		return WatchEvent{}, false
	}
	return WatchEvent{Type: watch.Bookmark, Bookmark: &Bookmark{Revision: w.complete}}, true
}

func (w *Watcher) scheduleBookmark(now time.Time) {
	every := w.cache.hub.opts.BookmarkEvery
	// Spread out, so that the bookmarks of a thousand watchers that started together do not fall together.
	w.bookmarkAt = now.Add(every - rand.N(every/8+1))
}

// end finishes the watch with err; before the end of its time a last bookmark says where to go on.
func (w *Watcher) end(err error) (WatchEvent, error) {
	w.err = err
	w.Close()
	if err == io.EOF && w.bookmarks && w.complete > 0 {
		return WatchEvent{Type: watch.Bookmark, Bookmark: &Bookmark{Revision: w.complete}}, nil
	}
	return WatchEvent{}, err
}

// fetch gets the next events into batch. When there are none, the watch is complete up to the Hub's revision, and the
// channel is closed when more arrive (nil: wake tells).
func (w *Watcher) fetch() (changed <-chan struct{}, found bool) {
	upTo := w.cache.hub.revision.Load()
	w.batch, w.read = w.batch[:0], 0
	if w.indexed && w.takePending() {
		return nil, true
	}
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 {
		return nil, true // came in between; the next round takes them
	}
	if w.parked {
		seen := max(w.complete, w.after)
		if w.generation != c.generation || c.window.floor > seen && w.next < c.window.oldest {
			w.err = errTooOld(seen, c.window.floor)
			w.finish()
			return nil, true
		}
		// What left the window was not newer than what this watcher has seen.
		w.next = max(w.next, c.window.oldest)
		for w.next < c.window.next && len(w.batch) < fetchMax {
			w.batch = append(w.batch, c.window.at(w.next))
			w.next++
		}
		if w.indexed && w.next == c.window.next {
			w.parked = false
		}
		if len(w.batch) > 0 {
			return nil, true
		}
	}
	w.complete = max(w.complete, upTo)
	if !w.indexed {
		changed = c.appended.wait()
	}
	return changed, false
}

func (w *Watcher) takePending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) == 0 {
		return false
	}
	w.pending, w.batch = w.batch, w.pending
	return true
}

// wait blocks until there may be more, a bookmark is due, or the watch is over: io.EOF or the context's error.
func (w *Watcher) wait(ctx context.Context, changed <-chan struct{}) error {
	at := w.endAt
	if w.bookmarks && w.bookmarkAt.Before(at) {
		at = w.bookmarkAt
	}
	c := w.cache.hub.opts.Clock
	switch {
	case w.timer == nil:
		w.timer = c.NewTimer(at.Sub(c.Now()))
	case !w.timerAt.Equal(at):
		w.timer.Stop()
		w.timer = c.NewTimer(at.Sub(c.Now()))
	}
	w.timerAt = at
	select {
	case <-changed:
	case <-w.wake:
	case <-w.timer.C():
		w.timer = nil
	case <-ctx.Done():
		return contextError(ctx)
	case <-w.cache.hub.stopped:
		return io.EOF
	case <-w.closed:
		return io.EOF
	}
	return nil
}

// Close ends the watch.
func (w *Watcher) Close() {
	w.finish()
	if w.indexed {
		w.cache.watchers.remove(w)
	}
}

// finish makes Next return without touching the index, whose lock comes before the caches'.
func (w *Watcher) finish() { w.closing.Do(func() { close(w.closed) }) }
