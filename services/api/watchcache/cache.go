package watchcache

import (
	"context"
	"sync"
	"time"

	"github.com/tidwall/btree"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/store/kv"
)

type tree = btree.Map[string, *object.Entry]

// Cache holds one type's objects and its latest events.
type Cache struct {
	hub *Hub
	typ Type
	// incoming is the part of the response that is being applied; only the Hub's goroutine touches it.
	incoming []change

	mu sync.RWMutex
	// objects is what exists now, changed by the Hub's goroutine alone; frozen is a copy for readers, nil after a change.
	objects, frozen *tree
	// byIndex are the objects of each index value, by key.
	byIndex map[string]map[string]*object.Entry
	// revision is that of the newest change in objects.
	revision int64
	window   window
	// generation counts the times that everything was replaced, which no watch survives.
	generation uint64
	// pages are frozen trees of earlier revisions, to which lists in pages hold on; the latest first.
	pages []page

	// appended wakes the watchers that read the window as it grows.
	appended broadcast
	watchers index
}

type page struct {
	revision int64
	objects  *tree
}

// change is one decoded event of the store; entry is nil for a deletion.
type change struct {
	key      string
	revision int64
	entry    *object.Entry
	trace    string
}

func newCache(h *Hub, t Type) *Cache {
	c := &Cache{hub: h, typ: t, objects: new(tree)}
	c.window = window{min: h.opts.WindowMin, max: h.opts.WindowMax, age: h.opts.WindowAge, next: 1, oldest: 1}
	if t.IndexValue != nil {
		c.byIndex = map[string]map[string]*object.Entry{}
	}
	c.watchers.init()
	return c
}

// Type is what the cache holds.
func (c *Cache) Type() Type { return c.typ }

// Peek is the object as the cache has it now, which may be out of date; nil when there is none.
func (c *Cache) Peek(key string) *object.Entry {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e, _ := c.objects.Get(key)
	return e
}

// Get is the object at a state that Freshness demands; nil when there is none.
func (c *Cache) Get(ctx context.Context, key string, f Freshness) (*object.Entry, error) {
	if err := c.hub.await(ctx, f); err != nil {
		return nil, err
	}
	return c.Peek(key), nil
}

// decode makes the entry of a stored version. Nobody can repair a value that does not decode through this api, so it is
// logged and treated as absent rather than holding everything else up.
func (c *Cache) decode(item *kv.KeyValue) *object.Entry {
	e, err := c.typ.Codec.Decode(string(item.Key), item.ModRevision, item.Value)
	if err != nil {
		c.hub.opts.Log.Error("a stored object cannot be read and is not shown", "key", string(item.Key), "revision", item.ModRevision, "error", err)
		return nil
	}
	e.TraceParent = item.TraceParent
	return e
}

// reuse is the entry that the cache already has of a version.
func (c *Cache) reuse(item *kv.KeyValue) *object.Entry {
	if e, ok := c.objects.Get(string(item.Key)); ok && e.Revision == item.ModRevision {
		return e
	}
	return nil
}

// receive decodes an event for the next apply.
func (c *Cache) receive(e *kv.Event) {
	ch := change{key: string(e.KV.Key), revision: e.KV.ModRevision, trace: e.KV.TraceParent}
	if e.Type == kv.EventPut {
		if o := c.hub.opts.Handover; o != nil {
			ch.entry = o.Take(e.KV.Key, e.KV.ModRevision, e.KV.Value)
		}
		if ch.entry == nil {
			ch.entry = c.decode(&e.KV)
		}
	}
	c.incoming = append(c.incoming, ch)
}

// apply brings what was received into the tree and the window, and then hands it to the watchers.
func (c *Cache) apply(now time.Time) {
	events := make([]*object.Event, 0, len(c.incoming))
	c.mu.Lock()
	first := c.window.next
	for i := range c.incoming {
		if e := c.change(&c.incoming[i]); e != nil {
			events = append(events, e)
			c.window.append(e, now)
		}
	}
	c.mu.Unlock()
	clear(c.incoming)
	c.incoming = c.incoming[:0]
	if len(events) == 0 {
		return
	}
	c.appended.signal()
	c.dispatch(first, events)
}

// change puts one change into the tree and makes its event; nil when nothing was there to delete.
func (c *Cache) change(ch *change) *object.Event {
	c.frozen = nil
	c.revision = ch.revision
	if ch.entry == nil {
		prev, ok := c.objects.Delete(ch.key)
		if !ok {
			return nil
		}
		c.unindex(prev)
		gone := prev.At(ch.revision)
		gone.TraceParent = ch.trace
		return &object.Event{Revision: ch.revision, Deleted: true, Entry: gone, Prev: prev, TraceParent: ch.trace}
	}
	e := &object.Event{Revision: ch.revision, Entry: ch.entry, TraceParent: ch.trace}
	if prev, ok := c.objects.Set(ch.key, ch.entry); ok {
		c.unindex(prev)
		e.Prev = prev
	}
	c.index(ch.entry)
	return e
}

func (c *Cache) index(e *object.Entry) {
	if c.byIndex == nil {
		return
	}
	v := c.typ.IndexValue(e.Object)
	set := c.byIndex[v]
	if set == nil {
		set = map[string]*object.Entry{}
		c.byIndex[v] = set
	}
	set[e.Key] = e
}

func (c *Cache) unindex(e *object.Entry) {
	if c.byIndex == nil {
		return
	}
	v := c.typ.IndexValue(e.Object)
	delete(c.byIndex[v], e.Key)
	if len(c.byIndex[v]) == 0 {
		delete(c.byIndex, v)
	}
}

// reset replaces everything by the objects at revision; open watches end with 410.
func (c *Cache) reset(objects *tree, revision int64) {
	c.mu.Lock()
	c.objects, c.frozen, c.pages = objects, nil, nil
	c.revision = revision
	c.window.reset(revision)
	c.generation++
	if c.byIndex != nil {
		c.byIndex = map[string]map[string]*object.Entry{}
		objects.Scan(func(_ string, e *object.Entry) bool {
			c.index(e)
			return true
		})
	}
	c.mu.Unlock()
	c.appended.signal()
	c.watchers.expire()
}

// snapshot is the present objects, and the revision at which they are exactly all there is.
func (c *Cache) snapshot() (*tree, int64) {
	c.mu.RLock()
	objects, revision := c.frozen, c.current()
	c.mu.RUnlock()
	if objects != nil {
		return objects, revision
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.freeze(), c.current()
}

// freeze is frozen, made anew if need be; mu is held for writing.
func (c *Cache) freeze() *tree {
	if c.frozen == nil {
		c.frozen = c.objects.Copy()
	}
	return c.frozen
}

// current is the revision that objects stand for; mu is held. The Hub's revision may be ahead of the last change, since
// nothing of this type happened in between, or behind it, while the rest of a response is being applied.
func (c *Cache) current() int64 { return max(c.revision, c.hub.revision.Load()) }
