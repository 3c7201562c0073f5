package watchcache

import (
	"sync"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

// index finds the watchers that an event may concern by the one thing that each of them names exactly. Those that name nothing
// are not in it: they follow the window itself.
type index struct {
	mu                        sync.RWMutex
	byKey, byNamespace, byVal map[string]map[*Watcher]struct{}
}

func (x *index) init() {
	x.byKey, x.byNamespace, x.byVal = map[string]map[*Watcher]struct{}{}, map[string]map[*Watcher]struct{}{}, map[string]map[*Watcher]struct{}{}
}

// place is the map and the key under which a watcher with filter f is found; nil when it follows the window.
func (x *index) place(f *compiled) (map[string]map[*Watcher]struct{}, string) {
	switch {
	case f.key != "":
		return x.byKey, f.key
	case f.HasIndex:
		return x.byVal, f.Index
	case f.Namespace != "":
		return x.byNamespace, f.Namespace
	}
	return nil, ""
}

// add says whether the watcher has a place in the index.
func (x *index) add(w *Watcher) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	m, at := x.place(&w.filter)
	if m == nil {
		return false
	}
	if m[at] == nil {
		m[at] = map[*Watcher]struct{}{}
	}
	m[at][w] = struct{}{}
	return true
}

func (x *index) remove(w *Watcher) {
	x.mu.Lock()
	defer x.mu.Unlock()
	m, at := x.place(&w.filter)
	if m == nil {
		return
	}
	delete(m[at], w)
	if len(m[at]) == 0 {
		delete(m, at)
	}
}

// dispatch hands events, numbered from first on, to the watchers that the index finds for them.
func (c *Cache) dispatch(first uint64, events []*object.Event) {
	x := &c.watchers
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(x.byKey)+len(x.byNamespace)+len(x.byVal) == 0 {
		return
	}
	for i, e := range events {
		n := first + uint64(i)
		for w := range x.byKey[e.Entry.Key] {
			w.offer(n, e)
		}
		if len(x.byNamespace) > 0 {
			namespace, _ := storage.SplitKey(c.typ.Prefix, e.Entry.Key)
			for w := range x.byNamespace[namespace] {
				w.offer(n, e)
			}
		}
		if len(x.byVal) > 0 {
			value := c.typ.IndexValue(e.Entry.Object)
			for w := range x.byVal[value] {
				w.offer(n, e)
			}
			if e.Prev == nil {
				continue
			}
			if before := c.typ.IndexValue(e.Prev.Object); before != value {
				for w := range x.byVal[before] {
					w.offer(n, e)
				}
			}
		}
	}
}

// expire ends the index's watchers after the history that they need was lost.
func (x *index) expire() {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, m := range []map[string]map[*Watcher]struct{}{x.byKey, x.byNamespace, x.byVal} {
		for _, set := range m {
			for w := range set {
				w.expire()
			}
		}
	}
}
