package mvcc

import (
	"bytes"
	"sort"

	"github.com/tidwall/btree"

	"github.com/orrery-io/orrery/services/store/kv"
)

// version is one version of one key: never changed after it was made.
type version struct {
	kv      kv.KeyValue
	deleted bool
	// pos is the place among the changes of its revision.
	pos int32
}

// versionOverhead is what a version costs beside its bytes, a round number near the truth. It is part of the size that
// is held against the quota, so changing it changes the state machine.
const versionOverhead = 192

func (v *version) cost() int64 {
	return int64(len(v.kv.Key)+len(v.kv.Value)+len(v.kv.TraceParent)) + versionOverhead
}

// history is a key with its versions, oldest first. A history is replaced, never changed. Successive histories of a key
// share one backing array: only the newest is appended to, and an older one never looks past its own length.
type history struct {
	key  []byte
	vers []*version
}

// at is the version seen at rev, nil when the key did not exist then.
func (h *history) at(rev int64) *version {
	n := len(h.vers)
	if n == 0 {
		return nil
	}
	v := h.vers[n-1] // the newest is what most readers want
	if v.kv.ModRevision > rev {
		i := sort.Search(n, func(i int) bool { return h.vers[i].kv.ModRevision > rev })
		if i == 0 {
			return nil
		}
		v = h.vers[i-1]
	}
	if v.deleted {
		return nil
	}
	return v
}

func lessHistory(a, b *history) bool { return bytes.Compare(a.key, b.key) < 0 }

type tree = btree.BTreeG[*history]

// newTree makes a tree without locks: one goroutine writes it, readers have copies that share nodes which nobody
// writes again.
func newTree() *tree {
	return btree.NewBTreeGOptions(lessHistory, btree.Options{NoLocks: true})
}

// noEnd reports whether end is the marker for "no upper limit".
func noEnd(end []byte) bool { return len(end) == 1 && end[0] == 0 }

// scan calls fn with every history in [key, end), in order, until fn returns false; with an empty end it looks at key.
func scan(t *tree, key, end []byte, fn func(*history) bool) {
	if len(end) == 0 {
		if h, ok := t.Get(&history{key: key}); ok {
			fn(h)
		}
		return
	}
	unbounded := noEnd(end)
	t.Ascend(&history{key: key}, func(h *history) bool {
		if !unbounded && bytes.Compare(h.key, end) >= 0 {
			return false
		}
		return fn(h)
	})
}
