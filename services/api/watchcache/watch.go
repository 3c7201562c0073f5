package watchcache

import (
	"context"
	"time"

	"github.com/orrery-io/orrery/services/api/object"
)

// WatchOptions are what a watch asks for.
type WatchOptions struct {
	Filter
	// Initial begins with an ADDED for every object there is in a state that Fresh demands; else the watch starts behind After.
	Initial bool
	Fresh   Freshness
	After   int64
	// Bookmarks asks for them; InitialEnd for the one that marks the end of the initial events.
	Bookmarks, InitialEnd bool
	// Timeout ends the watch.
	Timeout time.Duration
}

// Watch opens a watch. A revision that the window does not reach back to is refused with 410 Expired.
func (c *Cache) Watch(ctx context.Context, o WatchOptions) (*Watcher, error) {
	now := c.hub.opts.Clock.Now()
	w := &Watcher{
		cache: c, filter: o.Filter.compile(&c.typ, c.typ.Namespaced), bookmarks: o.Bookmarks, initialEnd: o.InitialEnd,
		endAt: now.Add(o.Timeout), parked: true, wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	w.scheduleBookmark(now)
	fresh := o.Fresh
	if !o.Initial {
		fresh = Freshness{}
	}
	if err := c.hub.await(ctx, fresh); err != nil {
		return nil, err
	}
	if o.Initial {
		w.startWithState()
	} else if err := w.startBehind(o.After); err != nil {
		return nil, err
	}
	w.indexed = c.watchers.add(w)
	return w, nil
}

// startWithState takes the present objects and the position behind them, together.
func (w *Watcher) startWithState() {
	c := w.cache
	c.mu.Lock()
	revision, next := c.current(), c.window.next
	w.generation = c.generation
	var objects *tree
	var indexed []*object.Entry
	if w.filter.HasIndex {
		for _, e := range c.byIndex[w.filter.Index] {
			indexed = append(indexed, e)
		}
	} else {
		objects = c.freeze()
	}
	c.mu.Unlock()
	w.next, w.after, w.complete = next, revision, revision
	if objects != nil {
		w.initial = c.page(objects, &w.filter, revision, w.filter.under, 0).Entries
		return
	}
	for _, e := range indexed {
		if w.filter.matches(e) {
			w.initial = append(w.initial, e)
		}
	}
	sortByKey(w.initial)
}

// startBehind finds the first event behind a revision.
func (w *Watcher) startBehind(revision int64) error {
	c := w.cache
	c.mu.RLock()
	defer c.mu.RUnlock()
	if revision < c.window.floor {
		return errTooOld(revision, c.window.floor)
	}
	w.next, w.after, w.complete = c.window.after(revision), revision, revision
	w.generation = c.generation
	return nil
}
