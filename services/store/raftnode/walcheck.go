package raftnode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

// The library recovers a segment up to the last batch that is whole and takes what follows for a write that was under way
// in a crash. It cannot tell that from damage to what was acknowledged, so the segments are read before it sees them. A
// segment is made of its header and of frames:
//
//	header  magic u32, version, first index u64, segment u64, codec u64                              32 bytes
//	frame   type u8, 3 zero bytes, length u32 (of an entry or index) or CRC-32C (of a commit), data, padded to 8 bytes
//
// A commit frame ends a batch; its sum is that of everything since the one before. What is past the last batch was zero
// when the segment was made, and is made zero again here after a crash. So a write that a crash cut off lacks its end, or
// has a sector of zeros in it; a batch that is wrong for another reason was whole, and has been damaged. So has anything
// that is followed by a batch that is right: one write is not begun before the one before it is on disk.
const (
	walHeader  = 32
	walFrame   = 8
	walSector  = 512
	walMagic   = 0x58eb6b0d
	frameEntry = 1
	frameIndex = 2
	frameEnd   = 3
)

// walSegmentState is what a segment holds.
type walSegmentState struct {
	// entries and index are the number of entries and the place of the index in what was committed; end is where that ends.
	entries, index, end int
}

// prepareWAL checks the segments that meta lists, cuts off what a crash left, and finishes a change of segments that a
// crash has interrupted.
func prepareWAL(dir string, meta *walMeta, tail *walTail) error {
	segments := meta.Log.Segments
	for i, s := range segments {
		path := filepath.Join(dir, segment.FileName(s))
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("the store's log is not readable: %w: check its owner and permissions", err)
		}
		sealed := !s.SealTime.IsZero()
		if !sealed && s.ID >= meta.Segments {
			continue // a crash left it half-made; it is made again
		}
		switch {
		case err != nil:
			return damaged(path, "it is missing")
		case !sealed && len(data) < int(s.SizeLimit) || len(data) < walHeader:
			return damaged(path, "it has %d bytes of at least %d: its end is cut off", len(data), s.SizeLimit)
		}
		state, err := checkSegment(path, data, s)
		if err != nil {
			return err
		}
		if sealed {
			if state.index != int(s.IndexStart) || uint64(state.entries) <= s.MaxIndex-s.BaseIndex {
				return damaged(path, "it has %d entries and an index at %d, not those to %d and an index at %d", state.entries, state.index, s.MaxIndex, s.IndexStart)
			}
			continue
		}
		if err := tail.check(path, s.BaseIndex+uint64(state.entries)-1); err != nil {
			return err
		}
		if err := clearTail(path, data, state.end); err != nil {
			return err
		}
		if state.index > 0 && state.entries > 0 && i == len(segments)-1 {
			return meta.change(func(c *walMetaContent) { seal(c, state) })
		}
	}
	return nil
}

// seal closes the last segment, which is full, and begins the next.
func seal(c *walMetaContent, state walSegmentState) {
	last := &c.Log.Segments[len(c.Log.Segments)-1]
	last.SealTime, last.IndexStart = time.Now(), uint64(state.index)
	last.MaxIndex = last.BaseIndex + uint64(state.entries) - 1
	next := last.MaxIndex + 1
	c.Log.Segments = append(c.Log.Segments, types.SegmentInfo{ID: c.Log.NextSegmentID, BaseIndex: next, MinIndex: next, SizeLimit: uint32(walSegment),
		Codec: last.Codec, CreateTime: time.Now()})
	c.Log.NextSegmentID++
}

// checkSegment reads through a segment.
func checkSegment(path string, data []byte, s types.SegmentInfo) (committed walSegmentState, err error) {
	batch, wrong, pos := walSegmentState{}, -1, walHeader
	start := 0 // of the batch; the first one holds the header
	for pos+walFrame <= len(data) {
		kind, size, ok := frame(data, pos)
		if !ok {
			break
		}
		switch kind {
		case frameEntry:
			batch.entries++
		case frameIndex:
			batch.index = pos + walFrame
		case frameEnd:
			whole := crc32.Checksum(data[start:pos], castagnoli) == binary.LittleEndian.Uint32(data[pos+4:])
			switch {
			case whole && wrong >= 0:
				return committed, damaged(path, "the entries at byte %d have a wrong checksum, those behind them are whole", wrong)
			case whole:
				batch.end = pos + walFrame
				committed = batch
			case wrong < 0:
				wrong = start
			}
			start = pos + walFrame
		}
		pos += walFrame + size
	}
	if committed.end > 0 {
		if err := checkSegmentHeader(path, data, s); err != nil {
			return committed, err
		}
	}
	if wrong < 0 {
		wrong = committed.end
	}
	rest := bytes.TrimRight(data[wrong:], "\x00")
	switch {
	case len(rest) == 0:
		return committed, nil
	case batchBehind(data, pos):
		return committed, damaged(path, "what is at byte %d is not part of the log, but entries behind it are whole", pos)
	case endsBatch(data, wrong+len(rest)) && !zeroSector(data, wrong, wrong+len(rest)):
		return committed, damaged(path, "the last entries, at byte %d, have a wrong checksum", wrong)
	}
	return committed, nil
}

func checkSegmentHeader(path string, data []byte, s types.SegmentInfo) error {
	u64 := binary.LittleEndian.Uint64
	if u64(data) != walMagic || u64(data[8:]) != s.BaseIndex || u64(data[16:]) != s.ID || u64(data[24:]) != s.Codec {
		return damaged(path, "its header is not that of segment %d beginning at entry %d", s.ID, s.BaseIndex)
	}
	return nil
}

// frame reads the head of a frame: its kind and the padded size of its data.
func frame(data []byte, pos int) (kind byte, size int, ok bool) {
	h := data[pos : pos+walFrame]
	if h[1]|h[2]|h[3] != 0 {
		return 0, 0, false
	}
	switch kind = h[0]; kind {
	case frameEnd:
		return kind, 0, true
	case frameEntry, frameIndex:
		n := int64(binary.LittleEndian.Uint32(h[4:]))
		n = (n + walFrame - 1) &^ (walFrame - 1)
		return kind, int(n), n <= int64(len(data)-pos-walFrame)
	}
	return 0, 0, false
}

// batchBehind reports whether a whole batch begins behind a commit frame somewhere after pos.
func batchBehind(data []byte, pos int) bool {
	for ; pos+2*walFrame <= len(data); pos += walFrame {
		if kind, _, ok := frame(data, pos); !ok || kind != frameEnd {
			continue
		}
		start := pos + walFrame
		for at := start; at+walFrame <= len(data); {
			kind, size, ok := frame(data, at)
			if !ok {
				break
			}
			if kind == frameEnd {
				if at > start && crc32.Checksum(data[start:at], castagnoli) == binary.LittleEndian.Uint32(data[at+4:]) {
					return true
				}
				break
			}
			at += walFrame + size
		}
	}
	return false
}

// endsBatch reports whether the last frame before end, behind which all is zero, ends a batch. One wrong bit is let pass.
func endsBatch(data []byte, end int) bool {
	at := (end - 1) &^ (walFrame - 1)
	return bits.OnesCount32(binary.LittleEndian.Uint32(data[at:])^frameEnd) <= 1
}

// zeroSector reports whether a sector that lies in [from, to) is zero in that part.
func zeroSector(data []byte, from, to int) bool {
	for at := from; at < to; {
		next := min((at/walSector+1)*walSector, to)
		if len(bytes.TrimLeft(data[at:next], "\x00")) == 0 {
			return true
		}
		at = next
	}
	return false
}

// clearTail makes everything from end on zero.
func clearTail(path string, data []byte, end int) error {
	rest := bytes.TrimRight(data[end:], "\x00")
	if len(rest) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	clear(rest)
	_, err = f.WriteAt(rest, int64(end))
	return errors.Join(err, f.Sync(), f.Close())
}
