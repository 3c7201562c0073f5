package watch

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/mem"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// sharedRevisions newest revisions are kept encoded, those of up to sharedBytes: 16 MB at most for each of the two forms.
	sharedRevisions = 512
	sharedBytes     = 32 << 10
	// maxKept is how long a list of events a watcher keeps for its next response.
	maxKept = 128
)

// Encoded is a kv.WatchResponse whose events are messages already, each the field of a WatchResponse with its tag. Other
// watchers have the same bytes: nobody may change them. The list is good until the watcher's next call.
type Encoded struct {
	Revision int64
	Events   mem.BufferSlice
}

// NextEncoded is Next for who passes events on: each is encoded once, however many watchers it goes to. When events have come and
// would not fill a response, pause is called and may take its time: those that come meanwhile are in the response too.
func (w *Watcher) NextEncoded(ctx context.Context, pause func(context.Context)) (Encoded, error) {
	b := builder{w: w, encode: true, encoded: w.list[:0]}
	clear(w.list)
	rev, err := w.next(ctx, &b, pause)
	w.list = nil
	if cap(b.encoded) <= maxKept {
		w.list = b.encoded
	}
	return Encoded{Revision: rev, Events: b.encoded}, err
}

// encodedRevision is the changes of one revision as messages, in their order.
type encodedRevision struct {
	rev    int64
	events mem.BufferSlice
}

// encodings keeps the newest revisions that were encoded, by revision.
type encodings [sharedRevisions]atomic.Pointer[encodedRevision]

// get is the encoding of a revision's changes: whoever comes first makes it.
func (e *encodings) get(rev int64, changes []mvcc.Change, withPrev bool) mem.BufferSlice {
	slot := &e[rev%sharedRevisions]
	if have := slot.Load(); have != nil && have.rev == rev {
		return have.events
	}
	size := 0
	events := make([]kv.Event, len(changes))
	for i, c := range changes {
		events[i] = c.Event(withPrev)
		size += wire.SizeEvent(&events[i])
	}
	made := &encodedRevision{rev: rev, events: make(mem.BufferSlice, len(changes))}
	block := make([]byte, 0, size)
	for i := range events {
		from := len(block)
		block = wire.AppendEvent(block, &events[i])
		made.events[i] = mem.SliceBuffer(block[from:len(block):len(block)])
	}
	if size <= sharedBytes {
		slot.Store(made)
	}
	return made.events
}

// forget drops all.
func (e *encodings) forget() {
	for i := range e {
		e[i].Store(nil)
	}
}
