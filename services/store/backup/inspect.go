package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// Containers of a snapshot.
const (
	// ContainerPlain is the stream of a member and nothing else.
	ContainerPlain = "orrery"
	// ContainerPadded is the same stream as etcd's clients save it: zeros up to a multiple of 512 bytes, then the SHA-256 of
	// everything before.
	ContainerPadded = "etcd"
)

// Info describes a snapshot file.
type Info struct {
	File string `json:"file"`
	// Container is ContainerPlain or ContainerPadded, Format the layout inside.
	Container string `json:"container"`
	Format    uint32 `json:"format"`
	// Revision is the newest one in the snapshot, CompactRevision the oldest that can still be read.
	Revision        int64 `json:"revision"`
	CompactRevision int64 `json:"compactRevision"`
	// Incarnation counts the restores that the content has been through.
	Incarnation uint64 `json:"incarnation"`
	// Keys counts living keys, Versions all versions of all keys, deletions included.
	Keys     int64 `json:"keys"`
	Versions int64 `json:"versions"`
	Leases   int64 `json:"leases"`
	// SizeBytes is that of the file, SHA256 that of the snapshot in it, the same in either container.
	SizeBytes int64  `json:"sizeBytes"`
	SHA256    string `json:"sha256"`
}

// DamagedError is a file that must not be used; errors.Is(err, mvcc.ErrSnapshotDamaged).
type DamagedError struct {
	File  string
	Cause error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s cannot be used: %v: take another backup", e.File, e.Cause)
}

// Unwrap leads to the cause.
func (e *DamagedError) Unwrap() error { return e.Cause }

// Inspect reads a whole file and verifies it. Memory stays that of one frame.
func Inspect(file string) (*Info, error) { return read(file, nil) }

// read verifies a file and, when load is set, hands the snapshot in it to load, which reads it to its trailer.
func read(file string, load func(io.Reader) error) (*Info, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: name the one that `orrery snapshot save` wrote", file)
	}
	h := &hashing{r: bufio.NewReaderSize(f, 1<<20), h: sha256.New()}
	info := &Info{File: file, SizeBytes: fi.Size()}
	c := &counter{info: info}
	err = mvcc.ScanSnapshot(h, c.visit)
	switch {
	case errors.Is(err, mvcc.ErrSnapshotDamaged):
		if what := foreign(f); what != "" {
			err = errors.New(what)
		}
		return nil, &DamagedError{file, err}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	info.Container, info.SHA256 = ContainerPlain, hex.EncodeToString(h.h.Sum(nil))
	if h.n < info.SizeBytes {
		if err := checkPadding(h, info.SizeBytes); err != nil {
			return nil, &DamagedError{file, fmt.Errorf("%w: %w", mvcc.ErrSnapshotDamaged, err)}
		}
		info.Container = ContainerPadded
	}
	if load == nil {
		return info, nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("the snapshot cannot be read: %w", err)
	}
	return info, load(bufio.NewReaderSize(f, 1<<20))
}

// checkPadding reads what follows the trailer at h.n: zeros to a multiple of 512, then a SHA-256.
func checkPadding(h *hashing, size int64) error {
	const block = 512
	end := h.n
	padded := (end + block - 1) / block * block
	if size != padded+sha256.Size {
		return fmt.Errorf("%d bytes follow the end of the snapshot at byte %d", size-end, end)
	}
	rest := make([]byte, padded-end)
	if _, err := io.ReadFull(h, rest); err != nil {
		return err
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		return fmt.Errorf("the padding from byte %d on is not empty", end)
	}
	want := h.h.Sum(nil)
	have := make([]byte, sha256.Size)
	if _, err := io.ReadFull(h, have); err != nil {
		return err
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("its SHA-256 is %x, %x was written at byte %d", want, have, padded)
	}
	return nil
}

// foreign says what a file is when it is a known one that is not a snapshot.
func foreign(f *os.File) string {
	var head [20]byte
	if n, _ := f.ReadAt(head[:], 0); n == 0 {
		return "it is empty"
	}
	// The magic number of a bolt file, behind its page header; the byte order is the machine's.
	if m := head[16:20]; bytes.Equal(m, []byte{0xed, 0xda, 0x0c, 0xed}) || bytes.Equal(m, []byte{0xed, 0x0c, 0xda, 0xed}) {
		return "it is a bolt database (a snapshot of etcd itself, or a log file of this store), not a snapshot of this store"
	}
	return ""
}

// counter fills in an Info from the records of a snapshot.
type counter struct {
	info *Info
	key  []byte
	live int64 // 1 when the last version seen of key is no deletion
}

func (c *counter) visit(rec *storev1.SnapshotRecord) error {
	if h := rec.GetHeader(); h != nil {
		c.info.Format, c.info.Revision, c.info.CompactRevision, c.info.Incarnation = h.Format, h.Revision, h.CompactRevision, h.Incarnation
	}
	c.info.Leases += int64(len(rec.GetLeases().GetLeases()))
	for _, k := range rec.GetKeys().GetKeys() {
		if !bytes.Equal(c.key, k.Key) {
			c.info.Keys += c.live
			c.key, c.live = k.Key, 0
		}
		if n := len(k.Versions); n > 0 {
			c.live = 1
			if k.Versions[n-1].Deleted {
				c.live = 0
			}
		}
	}
	if t := rec.GetTrailer(); t != nil {
		c.info.Keys += c.live
		c.info.Versions = t.Versions
	}
	return nil
}

// hashing counts and hashes what is read.
type hashing struct {
	r io.Reader
	h hash.Hash
	n int64
}

func (h *hashing) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.h.Write(p[:n])
	h.n += int64(n)
	return n, err
}
