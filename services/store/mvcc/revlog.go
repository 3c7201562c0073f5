package mvcc

import (
	"slices"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Change is one change of one key, as the revision log keeps it.
type Change struct {
	v    *version
	prev *version // nil when the key did not exist before, or when that version was compacted
}

// Key is the key that changed.
func (c Change) Key() []byte { return c.v.kv.Key }

// Deleted reports whether the change took the key away.
func (c Change) Deleted() bool { return c.v.deleted }

// Event is the change as watchers see it; withPrev adds the version before. It shares memory with the store.
func (c Change) Event(withPrev bool) kv.Event {
	e := kv.Event{KV: c.v.kv}
	if c.v.deleted {
		e.Type = kv.EventDelete
	}
	if withPrev && c.prev != nil {
		e.PrevKV = &c.prev.kv
	}
	return e
}

// logChunk revisions make a chunk, the unit in which the log grows and is dropped.
const logChunk = 512

// revLog holds the changes of each revision from first on. Copies of the struct share chunks: the writer fills slots
// past the newest revision that any copy's owner knows, so readers and writer never touch the same one.
type revLog struct {
	first  int64 // revision of the first slot
	chunks []*[logChunk][]Change
}

func newRevLog(first int64) revLog {
	return revLog{first: first, chunks: []*[logChunk][]Change{new([logChunk][]Change)}}
}

// set fills the slot of rev, which is at most one past the last slot filled.
func (l *revLog) set(rev int64, changes []Change) {
	i := rev - l.first
	for int(i/logChunk) >= len(l.chunks) {
		l.chunks = append(l.chunks, new([logChunk][]Change))
	}
	l.chunks[i/logChunk][i%logChunk] = changes
}

// get is the changes of rev, which must be a revision that the log's owner knows.
func (l *revLog) get(rev int64) []Change {
	i := rev - l.first
	if i < 0 || int(i/logChunk) >= len(l.chunks) {
		return nil
	}
	return l.chunks[i/logChunk][i%logChunk]
}

// dropBefore forgets whole chunks before rev.
func (l *revLog) dropBefore(rev int64) {
	n := (rev - l.first) / logChunk
	if n <= 0 {
		return
	}
	l.chunks = slices.Clone(l.chunks[n:])
	l.first += n * logChunk
}
