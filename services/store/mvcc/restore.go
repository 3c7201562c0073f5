package mvcc

import (
	"bytes"
	"io"
	"sort"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Restore reads a snapshot and returns the state it holds and the log index that it includes.
func Restore(r io.Reader) (*State, uint64, error) {
	b := &builder{s: New()}
	if err := ScanSnapshot(r, b.add); err != nil {
		return nil, 0, err
	}
	b.finish()
	return b.s, b.applied, nil
}

// builder makes a state of the records of a snapshot, whose order ScanSnapshot has checked.
type builder struct {
	s       *State
	applied uint64
	last    *history // the key being read
}

func (b *builder) add(rec *storev1.SnapshotRecord) error {
	if h := rec.GetHeader(); h != nil {
		s := b.s
		b.applied = h.AppliedIndex
		s.rev, s.compactRev, s.incarnation, s.noSpace = h.Revision, h.CompactRevision, h.Incarnation, h.NoSpace
		s.log = newRevLog(max(firstRevision, h.CompactRevision))
		for _, name := range h.CorruptMembers {
			s.corrupt[name] = struct{}{}
		}
		for _, m := range h.Members {
			s.members[m.Name] = m.ClientAddress
		}
		return nil
	}
	for _, l := range rec.GetLeases().GetLeases() {
		b.s.leases[l.Id] = &lease{ttl: l.TtlSeconds, keys: map[string]struct{}{}}
	}
	for _, k := range rec.GetKeys().GetKeys() {
		b.addKey(k)
	}
	return nil
}

func (b *builder) addKey(k *storev1.SnapshotKey) {
	if b.last == nil || !bytes.Equal(b.last.key, k.Key) {
		b.closeKey()
		b.last = &history{key: k.Key}
	}
	for _, r := range k.Versions {
		v := &version{deleted: r.Deleted, pos: r.Position, kv: kv.KeyValue{
			Key: b.last.key, Value: r.Value, CreateRevision: r.CreateRevision, ModRevision: r.ModRevision,
			Version: r.Version, Lease: r.Lease, TraceParent: r.TraceParent,
		}}
		b.s.account(v, +1)
		var prev *version
		if n := len(b.last.vers); n > 0 && !b.last.vers[n-1].deleted {
			prev = b.last.vers[n-1]
		}
		b.last.vers = append(b.last.vers, v)
		if v.kv.ModRevision >= b.s.log.first {
			b.s.log.set(v.kv.ModRevision, append(b.s.log.get(v.kv.ModRevision), Change{v: v, prev: prev}))
		}
	}
}

// closeKey puts the key that was read into the tree.
func (b *builder) closeKey() {
	if b.last == nil {
		return
	}
	b.s.tree.Load(b.last)
	if v := b.last.at(b.s.rev); v != nil {
		b.s.live += v.cost()
		b.s.keys++
		b.s.attach(&v.kv)
	}
}

// finish closes the last key and puts the changes of each revision back into their order.
func (b *builder) finish() {
	b.closeKey()
	l := &b.s.log
	for rev := l.first; rev <= b.s.rev; rev++ {
		if c := l.get(rev); len(c) > 1 {
			sort.Slice(c, func(i, j int) bool { return c[i].v.pos < c[j].v.pos })
		}
	}
}
