package mvcc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

// ErrSnapshotDamaged is wrapped by what ScanSnapshot and Restore say about a stream that is not a whole, intact snapshot.
var ErrSnapshotDamaged = errors.New("the snapshot is damaged or incomplete")

// DamageError is an ErrSnapshotDamaged with its place.
type DamageError struct {
	// Frame counts from 0, Offset is the byte at which that frame begins.
	Frame  int
	Offset int64
	Cause  error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("%v: frame %d at byte %d: %v", ErrSnapshotDamaged, e.Frame, e.Offset, e.Cause)
}

// Unwrap makes the error an ErrSnapshotDamaged and leads to its cause.
func (e *DamageError) Unwrap() []error { return []error{ErrSnapshotDamaged, e.Cause} }

// ScanSnapshot reads a snapshot up to and with its trailer and shows each record to visit before it reads the next one:
// memory stays that of one frame. It checks what can be checked on the way: the checksums, the format, that the header
// comes first, that keys rise, that no version is newer than the snapshot and that the trailer agrees. What follows the
// trailer in r is left unread. An error of visit ends the scan and is returned as it is.
func ScanSnapshot(r io.Reader, visit func(*storev1.SnapshotRecord) error) error {
	f := &frameReader{r: r}
	var c sequence
	for n := 0; ; n++ {
		offset, sum := f.offset, f.sum
		rec, err := f.next()
		if err == nil {
			err = c.check(rec, sum)
		}
		if unknown := (*formatError)(nil); errors.As(err, &unknown) {
			return err
		} else if err != nil {
			return &DamageError{Frame: n, Offset: offset, Cause: err}
		}
		if err := visit(rec); err != nil {
			return err
		}
		if rec.GetTrailer() != nil {
			return nil
		}
	}
}

// sequence checks that records follow each other as they must.
type sequence struct {
	header         *storev1.SnapshotHeader
	key            []byte
	keys, versions int64
}

// check looks at the next record; sum is the checksum of all frames before it.
func (c *sequence) check(rec *storev1.SnapshotRecord, sum uint32) error {
	switch r := rec.Record.(type) {
	case *storev1.SnapshotRecord_Header:
		if c.header != nil {
			return errors.New("a second header")
		}
		if r.Header.Format != snapshotFormat {
			return &formatError{r.Header.Format}
		}
		if h := r.Header; h.Revision < firstRevision || h.CompactRevision < 0 || h.CompactRevision > h.Revision {
			return fmt.Errorf("revision %d compacted at %d", h.Revision, h.CompactRevision)
		}
		c.header = r.Header
		return nil
	case *storev1.SnapshotRecord_Keys:
		if c.header == nil {
			break
		}
		return c.checkKeys(r.Keys.Keys)
	case *storev1.SnapshotRecord_Trailer:
		if c.header == nil {
			break
		}
		if t := r.Trailer; t.Checksum != sum || t.Keys != c.keys || t.Versions != c.versions {
			return fmt.Errorf("the trailer names %d keys, %d versions and checksum %08x, found are %d, %d and %08x",
				t.Keys, t.Versions, t.Checksum, c.keys, c.versions, sum)
		}
		return nil
	default:
		if c.header != nil {
			return nil
		}
	}
	return errors.New("it does not begin with the header of a snapshot")
}

func (c *sequence) checkKeys(keys []*storev1.SnapshotKey) error {
	for _, k := range keys {
		switch order := bytes.Compare(c.key, k.Key); {
		case c.keys == 0, order < 0:
			c.key = k.Key
			c.keys++
		case order > 0:
			return fmt.Errorf("key %q is out of order", k.Key)
		}
		for _, v := range k.Versions {
			if v.ModRevision > c.header.Revision {
				return fmt.Errorf("key %q has revision %d, beyond that of the snapshot, %d", k.Key, v.ModRevision, c.header.Revision)
			}
		}
		c.versions += int64(len(k.Versions))
	}
	return nil
}

// formatError is a snapshot of another version: it is not damaged.
type formatError struct{ format uint32 }

func (e *formatError) Error() string {
	return fmt.Sprintf("the snapshot has format %d, this version reads format %d: use the version that wrote it", e.format, snapshotFormat)
}

// frameReader reads frames and checks them.
type frameReader struct {
	r      io.Reader
	buf    []byte
	sum    uint32
	offset int64
}

func (f *frameReader) next() (*storev1.SnapshotRecord, error) {
	var head [8]byte
	if n, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, cutOff(err, n, len(head))
	}
	n := int(binary.BigEndian.Uint32(head[0:]))
	if n > maxSnapshotFrame {
		return nil, fmt.Errorf("a length of %d bytes, more than any frame has", n)
	}
	if cap(f.buf) < n {
		f.buf = make([]byte, n)
	}
	body := f.buf[:n]
	if got, err := io.ReadFull(f.r, body); err != nil {
		return nil, cutOff(err, got+len(head), n+len(head))
	}
	if have, want := crc32.Checksum(body, castagnoli), binary.BigEndian.Uint32(head[4:]); have != want {
		return nil, fmt.Errorf("its checksum is %08x, %08x was written", have, want)
	}
	f.sum = crc32.Update(f.sum, castagnoli, head[4:])
	f.offset += int64(len(head) + n)
	rec := &storev1.SnapshotRecord{}
	return rec, proto.Unmarshal(body, rec) // copies: the buffer is used again
}

// cutOff words the end of the stream in the middle; an error of the reader stays what it is.
func cutOff(err error, have, want int) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it ends after %d of %d bytes: %w", have, want, io.ErrUnexpectedEOF)
	}
	return err
}
