package raftnode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
)

// walTailFile says up to which entry the log has been on disk: the index, u64 little-endian, and its CRC-32C.
const (
	walTailFile = "tail"
	walTailSize = 12
)

// walTail is that file. The last batch of a segment that is zero looks as if it had never been written; this tells it from one
// that was lost. The index is written after a batch has been flushed and is not flushed itself: it may be behind the log, never
// before it. What it says is as old as the operating system's last flush, or exact when only the process has died.
type walTail struct {
	file  *os.File
	index uint64 // as it was found, 0 when it says nothing
}

func openWALTail(dir string) (*walTail, error) {
	f, err := os.OpenFile(filepath.Join(dir, walTailFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	t := &walTail{file: f}
	var buf [walTailSize]byte
	if _, err := f.ReadAt(buf[:], 0); err == nil && crc32.Checksum(buf[:8], castagnoli) == binary.LittleEndian.Uint32(buf[8:]) {
		t.index = binary.LittleEndian.Uint64(buf[:])
	}
	return t, nil
}

// check reports that the segment at path, the newest, ends before an entry that was on disk. last is its last entry.
func (t *walTail) check(path string, last uint64) error {
	if t.index <= last {
		return nil
	}
	return damaged(path, "it ends with entry %d, and entry %d has been written", last, t.index)
}

// set notes the last entry.
func (t *walTail) set(index uint64) error {
	var buf [walTailSize]byte
	binary.LittleEndian.PutUint64(buf[:], index)
	binary.LittleEndian.PutUint32(buf[8:], crc32.Checksum(buf[:8], castagnoli))
	_, err := t.file.WriteAt(buf[:], 0)
	return err
}

func (t *walTail) Close() error { return t.file.Close() }

// StoreLog implements raft.LogStore.
func (l *walLog) StoreLog(e *raft.Log) error { return l.StoreLogs([]*raft.Log{e}) }

// StoreLogs implements raft.LogStore.
func (l *walLog) StoreLogs(logs []*raft.Log) error {
	if err := l.WAL.StoreLogs(logs); err != nil || len(logs) == 0 {
		return err
	}
	return l.tail.set(logs[len(logs)-1].Index)
}

// DeleteRange implements raft.LogStore. Where the log will end is on disk before its end goes.
func (l *walLog) DeleteRange(from, to uint64) error {
	last, err := l.LastIndex()
	if err != nil {
		return err
	}
	if to >= last && from > 0 {
		first, err := l.FirstIndex()
		if err != nil {
			return err
		}
		end := from - 1
		if from <= first {
			end = 0
		}
		if err := errors.Join(l.tail.set(end), l.tail.file.Sync()); err != nil {
			return err
		}
	}
	return l.WAL.DeleteRange(from, to)
}

// Close ends the use of the log.
func (l *walLog) Close() error { return errors.Join(l.WAL.Close(), l.tail.Close()) }
