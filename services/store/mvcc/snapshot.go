package mvcc

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

const (
	snapshotFormat = 1
	// snapshotFrame is the size around which a frame is closed, snapshotPiece that at which a key's versions are split.
	snapshotFrame = 512 << 10
	snapshotPiece = 128 << 10
	// maxSnapshotFrame is what a reader accepts: the largest value and some.
	maxSnapshotFrame = 2*MaxTxnBytes + snapshotFrame
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Snapshot is the whole state at one moment. It was made in about constant time and is written while the state goes on.
type Snapshot struct {
	view    *View
	leases  map[int64]int64
	members map[string]string
	// AppliedIndex is the log index up to which the state is included; the caller's to set.
	AppliedIndex uint64
}

// Snapshot captures the present state.
func (s *State) Snapshot() *Snapshot {
	return &Snapshot{view: s.View(), leases: s.LeaseTTLs(), members: s.Members()}
}

// Revision is that of the state.
func (s *Snapshot) Revision() int64 { return s.view.rev }

// Write streams the snapshot.
func (s *Snapshot) Write(w io.Writer) error {
	f := &frameWriter{w: w}
	st := s.view.stats
	header := &storev1.SnapshotHeader{
		Format: snapshotFormat, Revision: st.Revision, CompactRevision: st.CompactRevision,
		AppliedIndex: s.AppliedIndex, Incarnation: st.Incarnation, NoSpace: st.NoSpace, CorruptMembers: s.view.corrupt,
	}
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		header.Members = append(header.Members, &storev1.MemberRecord{Name: name, ClientAddress: s.members[name]})
	}
	f.write(&storev1.SnapshotRecord{Record: &storev1.SnapshotRecord_Header{Header: header}})
	s.writeLeases(f)
	s.writeKeys(f)
	f.write(&storev1.SnapshotRecord{Record: &storev1.SnapshotRecord_Trailer{Trailer: &storev1.SnapshotTrailer{
		Keys: f.keys, Versions: f.versions, Checksum: f.sum,
	}}})
	return f.err
}

func (s *Snapshot) writeLeases(f *frameWriter) {
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(s.leases)), 4096) {
		rec := &storev1.SnapshotLeases{}
		for _, id := range ids {
			rec.Leases = append(rec.Leases, &storev1.SnapshotLease{Id: id, TtlSeconds: s.leases[id]})
		}
		f.write(&storev1.SnapshotRecord{Record: &storev1.SnapshotRecord_Leases{Leases: rec}})
	}
}

func (s *Snapshot) writeKeys(f *frameWriter) {
	rec, size := &storev1.SnapshotKeys{}, 0
	flush := func() {
		if len(rec.Keys) > 0 {
			f.write(&storev1.SnapshotRecord{Record: &storev1.SnapshotRecord_Keys{Keys: rec}})
			rec, size = &storev1.SnapshotKeys{}, 0
		}
	}
	s.view.tree.Scan(func(h *history) bool {
		f.keys++
		piece, pieceSize := &storev1.SnapshotKey{Key: h.key}, len(h.key)
		for _, v := range h.vers {
			f.versions++
			if pieceSize > snapshotPiece {
				rec.Keys, size = append(rec.Keys, piece), size+pieceSize
				if size > snapshotFrame {
					flush()
				}
				piece, pieceSize = &storev1.SnapshotKey{Key: h.key}, len(h.key)
			}
			piece.Versions = append(piece.Versions, &storev1.SnapshotVersion{
				Value: v.kv.Value, CreateRevision: v.kv.CreateRevision, ModRevision: v.kv.ModRevision, Version: v.kv.Version,
				Lease: v.kv.Lease, TraceParent: v.kv.TraceParent, Deleted: v.deleted, Position: v.pos,
			})
			pieceSize += len(v.kv.Value) + 64
		}
		rec.Keys, size = append(rec.Keys, piece), size+pieceSize
		if size > snapshotFrame {
			flush()
		}
		return f.err == nil
	})
	flush()
}

// frameWriter writes records as frames until the first error.
type frameWriter struct {
	w              io.Writer
	buf            []byte
	sum            uint32
	keys, versions int64
	err            error
}

func (f *frameWriter) write(rec *storev1.SnapshotRecord) {
	if f.err != nil {
		return
	}
	f.buf = append(f.buf[:0], make([]byte, 8)...)
	if f.buf, f.err = (proto.MarshalOptions{}).MarshalAppend(f.buf, rec); f.err != nil {
		return
	}
	body := f.buf[8:]
	sum := crc32.Checksum(body, castagnoli)
	binary.BigEndian.PutUint32(f.buf[0:], uint32(len(body)))
	binary.BigEndian.PutUint32(f.buf[4:], sum)
	f.sum = crc32.Update(f.sum, castagnoli, f.buf[4:8])
	_, f.err = f.w.Write(f.buf)
}
