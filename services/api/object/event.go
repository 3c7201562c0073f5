package object

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/wire"
)

// Event is one change of one object as the watch cache publishes it: shared by all watchers, never changed.
type Event struct {
	// Revision is that of the change; for a deletion Entry's is the same.
	Revision int64
	// Deleted tells a deletion from a write.
	Deleted bool
	// Entry is the new version; for a deletion the last version with the deletion's revision.
	Entry *Entry
	// Prev is the version before, nil when the object was created by this change.
	Prev *Entry
	// TraceParent is the W3C trace context of the write.
	TraceParent string

	removedOnce sync.Once
	removed     *Entry

	viewOnce sync.Once
	view     *Event
	viewErr  error

	typed [3]typedFrame
	// Frames are built by whoever needs them first, once for each format and event type (see Frame).
	mu     sync.Mutex
	frames map[FrameKey][]byte
}

type typedFrame struct {
	once  sync.Once
	frame *wire.EncodedEvent
}

// FrameKey names an encoding of an event: a format such as "json" or "protobuf;as=PartialObjectMetadata", and the type that
// the watcher sees (a change into a selector is ADDED for its watcher, MODIFIED for others).
type FrameKey struct {
	Format string
	Type   watch.EventType
}

// Removed is what a watcher sees whose selector the change left: the version before, with the change's revision. For a
// deletion it is Entry.
func (e *Event) Removed() *Entry {
	if e.Deleted || e.Prev == nil {
		return e.Entry
	}
	e.removedOnce.Do(func() { e.removed = e.Prev.At(e.Revision) })
	return e.removed
}

// Shown is the entry that a watcher sees for an event of type t.
func (e *Event) Shown(t watch.EventType) *Entry {
	if t == watch.Deleted {
		return e.Removed()
	}
	return e.Entry
}

// View is the event as another kind shows it; see Entry.View.
func (e *Event) View(convert func(*Entry) (*Entry, error)) (*Event, error) {
	e.viewOnce.Do(func() {
		v := &Event{Revision: e.Revision, Deleted: e.Deleted, TraceParent: e.TraceParent}
		if v.Entry, e.viewErr = e.Entry.View(convert); e.viewErr != nil {
			return
		}
		if e.Prev != nil {
			if v.Prev, e.viewErr = e.Prev.View(convert); e.viewErr != nil {
				return
			}
		}
		e.view = v
	})
	return e.view, e.viewErr
}

// Typed is the message that the typed gRPC services send to a watcher that sees the event as type t.
func (e *Event) Typed(t watch.EventType) *wire.EncodedEvent {
	i := 0
	switch t {
	case watch.Modified:
		i = 1
	case watch.Deleted:
		i = 2
	}
	f := &e.typed[i]
	f.once.Do(func() { f.frame = wire.EncodeEvent(string(t), e.TraceParent, e.Shown(t).Proto()...) })
	return f.frame
}

// Frame returns the frame for key, made by build when nobody did so before. build runs outside of the lock; two callers
// may both run it, and one result is kept.
func (e *Event) Frame(key FrameKey, build func() ([]byte, error)) ([]byte, error) {
	e.mu.Lock()
	b, ok := e.frames[key]
	e.mu.Unlock()
	if ok {
		return b, nil
	}
	b, err := build()
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if first, ok := e.frames[key]; ok {
		return first, nil
	}
	if e.frames == nil {
		e.frames = make(map[FrameKey][]byte, 1)
	}
	e.frames[key] = b
	return b, nil
}
