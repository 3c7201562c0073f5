package mvcc

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// hashPiece is how many bytes are hashed between two calls of pace.
const hashPiece = 1 << 20

// Hash is a number that members with the same content share: all versions of all keys, leases, members, alarms, and the
// figures that decide what a command does. It reads what a snapshot writes, in the same order. Members that were restored
// from a snapshot and members that applied every command come to the same number.
//
// pace is called now and then with the number of bytes hashed since the last call; when it returns false Hash gives up and
// returns false too.
func (s *Snapshot) Hash(pace func(bytes int) bool) (sum uint64, ok bool) {
	h := hasher{d: xxhash.New(), pace: pace}
	st := s.view.stats
	h.numbers(st.Revision, st.CompactRevision, st.SizeBytes, st.LiveBytes, st.Keys, int64(st.Incarnation), flag(st.NoSpace))
	h.numbers(int64(len(s.view.corrupt)))
	for _, m := range s.view.corrupt {
		h.text(m)
	}
	h.numbers(int64(len(s.members)))
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		h.text(name)
		h.text(s.members[name])
	}
	h.numbers(int64(len(s.leases)))
	for _, id := range slices.Sorted(maps.Keys(s.leases)) {
		h.numbers(id, s.leases[id])
	}
	s.view.tree.Scan(func(k *history) bool {
		h.bytes(k.key)
		h.numbers(int64(len(k.vers)))
		for _, v := range k.vers {
			h.numbers(v.kv.CreateRevision, v.kv.ModRevision, v.kv.Version, v.kv.Lease, flag(v.deleted), int64(v.pos))
			h.text(v.kv.TraceParent)
			h.bytes(v.kv.Value)
		}
		return h.rest()
	})
	return h.d.Sum64(), !h.stopped
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// hasher writes values so that different ones never look the same.
type hasher struct {
	d       *xxhash.Digest
	buf     []byte
	n       int
	pace    func(int) bool
	stopped bool
}

func (h *hasher) numbers(values ...int64) {
	h.buf = h.buf[:0]
	for _, v := range values {
		h.buf = binary.BigEndian.AppendUint64(h.buf, uint64(v))
	}
	h.write(h.buf)
}

func (h *hasher) bytes(b []byte) {
	h.numbers(int64(len(b)))
	h.write(b)
}

func (h *hasher) text(s string) {
	h.numbers(int64(len(s)))
	_, _ = h.d.WriteString(s) // does not fail
	h.n += len(s)
}

func (h *hasher) write(b []byte) {
	_, _ = h.d.Write(b) // does not fail
	h.n += len(b)
}

// rest reports whether to go on.
func (h *hasher) rest() bool {
	if h.n >= hashPiece {
		h.stopped = !h.pace(h.n)
		h.n = 0
	}
	return !h.stopped
}
