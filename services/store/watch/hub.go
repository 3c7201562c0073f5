package watch

import (
	"sync"
	"sync/atomic"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// Hub holds the newest committed view and the watchers of one store.
type Hub struct {
	// view is the newest readable state. told is the revision up to which every watcher has been told; it follows
	// view's revision at the end of each commit.
	view atomic.Pointer[mvcc.View]
	told atomic.Int64

	// plain and withPrev are the newest revisions as messages.
	plain, withPrev encodings

	expired atomic.Int64 // watches, ever

	// mu makes commits, registrations and removals exclude one another. Lock order: mu, then a watcher's own.
	mu       sync.Mutex
	index    index
	watchers set
	closed   bool
}

// NewHub returns a hub that shows view.
func NewHub(view *mvcc.View) *Hub {
	h := &Hub{index: newIndex(), watchers: set{}}
	h.view.Store(view)
	h.told.Store(view.Revision())
	return h
}

// View is the newest committed state.
func (h *Hub) View() *mvcc.View { return h.view.Load() }

// Commit makes view the newest state and tells the watchers of the revisions that it adds.
func (h *Hub) Commit(view *mvcc.View) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old := h.view.Swap(view)
	if len(h.watchers) > 0 {
		for rev := old.Revision() + 1; rev <= view.Revision(); rev++ {
			for _, c := range view.Changes(rev) {
				h.index.match(c.Key(), func(w *Watcher) { w.offer(rev) })
			}
		}
	}
	h.told.Store(view.Revision())
}

// Reset replaces the state by one that was read from a snapshot. Watchers go on from their position by the history that
// the snapshot brought; with expire set (the content is another one) they all end.
func (h *Hub) Reset(view *mvcc.View, expire bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.view.Store(view)
	h.plain.forget()
	h.withPrev.forget()
	for w := range h.watchers {
		w.lag(expire)
	}
	h.told.Store(view.Revision())
}

// Watch registers a watcher; see kv.KV.
func (h *Hub) Watch(req kv.WatchRequest) (*Watcher, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, kv.ErrClosed
	}
	view := h.view.Load()
	w := &Watcher{hub: h, req: req, signal: make(chan struct{}, 1)}
	switch {
	case req.StartRevision < 0:
		return nil, kv.ErrInvalid
	case req.StartRevision == 0:
		w.pos, w.synced = view.Revision(), true
	case req.StartRevision < view.CompactRevision():
		return nil, kv.ErrCompacted
	default:
		w.pos = req.StartRevision - 1
		w.synced = w.pos >= view.Revision()
	}
	w.from = w.pos
	h.watchers[w] = struct{}{}
	h.index.add(w)
	return w, nil
}

// encodings are those with or without the version before each change.
func (h *Hub) encodings(withPrev bool) *encodings {
	if withPrev {
		return &h.withPrev
	}
	return &h.plain
}

// Tick sends a progress notice to each watcher that asked for them and has had nothing since the Tick before. The owner
// calls it once every progress interval.
func (h *Hub) Tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if w.req.ProgressNotify {
			w.tick()
		}
	}
}

// Figures are numbers of a hub's watches.
type Figures struct {
	// Watchers are open. Lagging are those of them that read the log because they could not keep up, or began in the past and
	// have not caught up yet.
	Watchers, Lagging int
	// Expired is how many have ended, ever, because compaction had passed their position.
	Expired int64
}

// Figures counts the watches.
func (h *Hub) Figures() Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := Figures{Watchers: len(h.watchers), Expired: h.expired.Load()}
	for w := range h.watchers {
		if w.lags() {
			f.Lagging++
		}
	}
	return f
}

// Close ends all watches with kv.ErrClosed and refuses new ones. The view stays readable.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		w.end(kv.ErrClosed)
	}
}

func (h *Hub) remove(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watchers[w]; ok {
		delete(h.watchers, w)
		h.index.remove(w)
	}
}
