package mvcc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sort"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// ErrSnapshotDamaged is wrapped by what Restore says about a stream that is not a whole, intact snapshot.
var ErrSnapshotDamaged = errors.New("the snapshot is damaged or incomplete")

// Restore reads a snapshot and returns the state it holds and the log index that it includes.
func Restore(r io.Reader) (*State, uint64, error) {
	b := &builder{s: New()}
	f := &frameReader{r: r}
	for {
		sum := f.sum
		rec, err := f.next()
		if err != nil {
			return nil, 0, fmt.Errorf("%w: %w", ErrSnapshotDamaged, err)
		}
		if t := rec.GetTrailer(); t != nil {
			if b.header == nil || t.Checksum != sum || t.Keys != b.keys || t.Versions != b.versions {
				return nil, 0, fmt.Errorf("%w: its parts do not match its trailer", ErrSnapshotDamaged)
			}
			break
		}
		if err := b.add(rec); err != nil {
			return nil, 0, err
		}
	}
	if err := b.finish(); err != nil {
		return nil, 0, err
	}
	return b.s, b.header.AppliedIndex, nil
}

// builder makes a state of the records of a snapshot.
type builder struct {
	s              *State
	header         *storev1.SnapshotHeader
	last           *history // the key being read
	keys, versions int64
}

func (b *builder) add(rec *storev1.SnapshotRecord) error {
	if h := rec.GetHeader(); h != nil {
		if h.Format != snapshotFormat {
			return fmt.Errorf("the snapshot has format %d, this version reads format %d: use the version that wrote it", h.Format, snapshotFormat)
		}
		b.header = h
		s := b.s
		s.rev, s.compactRev, s.incarnation, s.noSpace = h.Revision, h.CompactRevision, h.Incarnation, h.NoSpace
		s.log = newRevLog(max(firstRevision, h.CompactRevision))
		for _, m := range h.Members {
			s.members[m.Name] = m.ClientAddress
		}
		return nil
	}
	if b.header == nil {
		return fmt.Errorf("%w: it does not begin with a header", ErrSnapshotDamaged)
	}
	for _, l := range rec.GetLeases().GetLeases() {
		b.s.leases[l.Id] = &lease{ttl: l.TtlSeconds, keys: map[string]struct{}{}}
	}
	for _, k := range rec.GetKeys().GetKeys() {
		if err := b.addKey(k); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) addKey(k *storev1.SnapshotKey) error {
	if b.last == nil || !bytes.Equal(b.last.key, k.Key) {
		if b.last != nil && bytes.Compare(b.last.key, k.Key) >= 0 {
			return fmt.Errorf("%w: key %q is out of order", ErrSnapshotDamaged, k.Key)
		}
		b.closeKey()
		b.last = &history{key: k.Key}
		b.keys++
	}
	for _, r := range k.Versions {
		if r.ModRevision > b.s.rev {
			return fmt.Errorf("%w: key %q has a revision beyond that of the snapshot", ErrSnapshotDamaged, k.Key)
		}
		b.versions++
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
	return nil
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
func (b *builder) finish() error {
	b.closeKey()
	l := &b.s.log
	for rev := l.first; rev <= b.s.rev; rev++ {
		if c := l.get(rev); len(c) > 1 {
			sort.Slice(c, func(i, j int) bool { return c[i].v.pos < c[j].v.pos })
		}
	}
	return nil
}

// frameReader reads frames and checks them.
type frameReader struct {
	r   io.Reader
	buf []byte
	sum uint32
}

func (f *frameReader) next() (*storev1.SnapshotRecord, error) {
	var head [8]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint32(head[0:]))
	if n > maxSnapshotFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	if cap(f.buf) < n {
		f.buf = make([]byte, n)
	}
	body := f.buf[:n]
	if _, err := io.ReadFull(f.r, body); err != nil {
		return nil, err
	}
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
		return nil, errors.New("a frame with a wrong checksum")
	}
	f.sum = crc32.Update(f.sum, castagnoli, head[4:])
	rec := &storev1.SnapshotRecord{}
	return rec, proto.Unmarshal(body, rec) // copies: the buffer is used again
}
