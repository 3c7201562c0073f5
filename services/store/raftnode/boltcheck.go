package raftnode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
)

// Bolt trusts its file: a page that was damaged makes it panic, loop or lose keys, and when the newest of its two header
// pages is damaged it goes on from the one before, without the last commit. So the file is walked before bolt sees it:
// both headers, and every page that can be reached from the newest. What the entries hold is not looked at here, they
// have checksums of their own.
//
// The layout, all numbers little-endian:
//
//	page    id u64, flags u16, count u16, overflow u32, elements, data
//	branch  element: position u32, key size u32, page u64
//	leaf    element: flags u32, position u32, key size u32, value size u32
//	header  (page 0 and 1, after the 16 bytes of a page): magic u32, version u32, page size u32, flags u32,
//	        root page u64, sequence u64, free list u64, pages in use u64, transaction u64, FNV-64a of what is before
const (
	boltPageHead = 16
	boltElement  = 16
	boltMetaSize = 64
	boltMagic    = 0xED0CDAED
	boltVersion  = 2

	boltBranch, boltLeaf, boltMeta = 0x01, 0x02, 0x04
	// boltBucket marks a leaf element whose value is a bucket: root page u64, sequence u64, and when that page is 0 the
	// bucket's only page itself.
	boltBucket     = 0x01
	boltBucketHead = 16
	// boltMaxDepth is more than a tree of the largest file can have.
	boltMaxDepth = 32
)

// boltHeader is one of the two header pages.
type boltHeader struct {
	pageSize, pages, root, txn uint64
}

// boltWalk is a walk over a file.
type boltWalk struct {
	f    *os.File
	path string
	head boltHeader
	seen map[uint64]struct{}
}

// checkBolt reports damage to the structure of a bolt file. One that is not old may be half-made.
func checkBolt(path string, old bool) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the store's data folder is not readable: %w: check its owner and permissions", err)
	}
	defer f.Close()
	w := &boltWalk{f: f, path: path, seen: map[uint64]struct{}{0: {}, 1: {}}}
	a, errA := w.header(0, 0)
	size := a.pageSize
	if errA != nil {
		size = uint64(os.Getpagesize())
	}
	b, errB := w.header(int64(size), 1)
	if errA != nil && errB != nil && !old {
		return nil // bolt says what is wrong, or begins anew
	}
	for _, err := range []error{errA, errB} {
		if err != nil {
			return damaged(path, "%v: the last commit may be lost", err)
		}
	}
	w.head = a
	if b.txn > a.txn {
		w.head = b
	}
	if a.pageSize != b.pageSize || max(a.txn, b.txn)-min(a.txn, b.txn) != 1 {
		return damaged(path, "its two header pages do not belong together (transactions %d and %d): the last commit may be lost", a.txn, b.txn)
	}
	if fi, err := f.Stat(); err != nil {
		return err
	} else if need := w.head.pages * w.head.pageSize; uint64(fi.Size()) < need {
		return damaged(path, "it has %d bytes of at least %d: its end is cut off", fi.Size(), need)
	}
	return w.bucket(w.head.root, nil, 0)
}

// header reads the header page at an offset.
func (w *boltWalk) header(offset int64, id uint64) (h boltHeader, err error) {
	buf := make([]byte, boltPageHead+boltMetaSize)
	if _, err := w.f.ReadAt(buf, offset); err != nil {
		return h, fmt.Errorf("header page %d cannot be read: %w", id, err)
	}
	m := buf[boltPageHead:]
	sum := fnv.New64a()
	sum.Write(m[:boltMetaSize-8])
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	h = boltHeader{pageSize: uint64(u32(m[8:])), root: u64(m[16:]), pages: u64(m[40:]), txn: u64(m[48:])}
	switch {
	case u32(m[0:]) != boltMagic || u32(m[4:]) != boltVersion || u64(m[56:]) != sum.Sum64():
		return boltHeader{}, fmt.Errorf("header page %d has a wrong checksum", id)
	case u64(buf) != id || binary.LittleEndian.Uint16(buf[8:]) != boltMeta:
		return boltHeader{}, fmt.Errorf("header page %d is not marked as one", id)
	case h.pageSize < 512 || h.pageSize > 1<<16 || h.pageSize&(h.pageSize-1) != 0:
		return boltHeader{}, fmt.Errorf("header page %d names pages of %d bytes", id, h.pageSize)
	}
	return h, nil
}

// bucket walks the tree of a bucket by its root page, or its only page when that is part of its parent.
func (w *boltWalk) bucket(root uint64, inline []byte, depth int) error {
	var last []byte
	if inline != nil {
		return w.page(0, inline, depth, nil, &last)
	}
	return w.load(root, depth, nil, &last)
}

// load reads a page and walks it. No key in it may be below low, and every key must be above last.
func (w *boltWalk) load(id uint64, depth int, low []byte, last *[]byte) error {
	if depth > boltMaxDepth {
		return damaged(w.path, "page %d is deeper in a tree than a tree can be", id)
	}
	buf := make([]byte, w.head.pageSize)
	if err := w.claim(id, 1); err != nil {
		return err
	}
	if _, err := w.f.ReadAt(buf, int64(id*w.head.pageSize)); err != nil {
		return damaged(w.path, "page %d cannot be read: %v", id, err)
	}
	if got := binary.LittleEndian.Uint64(buf); got != id {
		return damaged(w.path, "page %d says that it is page %d", id, got)
	}
	if more := uint64(binary.LittleEndian.Uint32(buf[12:])); more > 0 {
		if err := w.claim(id+1, more); err != nil {
			return err
		}
		buf = make([]byte, (1+more)*w.head.pageSize)
		if _, err := w.f.ReadAt(buf, int64(id*w.head.pageSize)); err != nil && !errors.Is(err, io.EOF) {
			return damaged(w.path, "page %d cannot be read: %v", id, err)
		}
	}
	return w.page(id, buf, depth, low, last)
}

// claim notes that pages are in use, each by one owner.
func (w *boltWalk) claim(id, n uint64) error {
	if id >= w.head.pages || n > w.head.pages-id {
		return damaged(w.path, "page %d of %d is referred to", id, w.head.pages)
	}
	for i := id; i < id+n; i++ {
		if _, twice := w.seen[i]; twice {
			return damaged(w.path, "page %d has two owners", i)
		}
		w.seen[i] = struct{}{}
	}
	return nil
}

func (w *boltWalk) page(id uint64, buf []byte, depth int, low []byte, last *[]byte) error {
	flags, count := binary.LittleEndian.Uint16(buf[8:]), int(binary.LittleEndian.Uint16(buf[10:]))
	if flags != boltBranch && flags != boltLeaf || boltPageHead+count*boltElement > len(buf) || flags == boltBranch && count == 0 {
		return damaged(w.path, "page %d is neither a branch nor a leaf (flags %#x, %d elements)", id, flags, count)
	}
	for i := range count {
		at := boltPageHead + i*boltElement
		e := buf[at:]
		if flags == boltBranch {
			key, ok := slice(buf, at, binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:]))
			if !ok || bytes.Compare(key, low) < 0 || *last != nil && bytes.Compare(key, *last) <= 0 {
				return damaged(w.path, "branch %d of page %d is out of bounds or of order", i, id)
			}
			if err := w.load(binary.LittleEndian.Uint64(e[8:]), depth+1, key, last); err != nil {
				return err
			}
			continue
		}
		pos, keySize, valueSize := binary.LittleEndian.Uint32(e[4:]), binary.LittleEndian.Uint32(e[8:]), binary.LittleEndian.Uint32(e[12:])
		key, ok := slice(buf, at, pos, keySize)
		if !ok || bytes.Compare(key, low) < 0 || *last != nil && bytes.Compare(key, *last) <= 0 {
			return damaged(w.path, "key %d of page %d is out of bounds or of order", i, id)
		}
		*last = bytes.Clone(key)
		value, ok := slice(buf, at+int(keySize), pos, valueSize)
		switch eflags := binary.LittleEndian.Uint32(e); {
		case !ok || eflags > boltBucket || eflags == boltBucket && len(value) < boltBucketHead:
			return damaged(w.path, "value %d of page %d is out of bounds", i, id)
		case eflags == boltBucket:
			if err := w.child(id, value, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// child walks a bucket by the value that stands for it.
func (w *boltWalk) child(id uint64, value []byte, depth int) error {
	if root := binary.LittleEndian.Uint64(value); root != 0 {
		return w.bucket(root, nil, depth+1)
	}
	if value = value[boltBucketHead:]; len(value) < boltPageHead {
		return damaged(w.path, "a bucket in page %d is cut off", id)
	}
	return w.bucket(0, value, depth+1)
}

// slice is size bytes of buf at pos after base, when they are within.
func slice(buf []byte, base int, pos, size uint32) ([]byte, bool) {
	from, to := uint64(base)+uint64(pos), uint64(base)+uint64(pos)+uint64(size)
	if to > uint64(len(buf)) {
		return nil, false
	}
	return buf[from:to], true
}
