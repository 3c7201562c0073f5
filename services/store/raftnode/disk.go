package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

const logFile = "raft.db"

// disk is the log and the votes of a member in one bolt file. It stands between Raft and the file so that the file can be
// rewritten while Raft waits.
type disk struct {
	path string
	mu   sync.RWMutex // held for writing while the file is replaced
	*raftboltdb.BoltStore
}

// openDisk opens the file, makes it when there is none, and holds a lock on it.
func openDisk(dir string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store's data folder cannot be made: %w: check the path and its permissions", err)
	}
	d := &disk{path: filepath.Join(dir, logFile)}
	if err := d.open(); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *disk) open() (err error) {
	d.BoltStore, err = raftboltdb.New(raftboltdb.Options{
		Path: d.path,
		// The free list is rebuilt at start instead of being written with every commit.
		BoltOptions:             &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true},
		MsgpackUseNewTimeFormat: true,
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bbolt.ErrTimeout):
		return fmt.Errorf("the store's data folder %s is in use by another process: stop that one or choose another folder", filepath.Dir(d.path))
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	return fmt.Errorf("the store's log %s cannot be opened: %w: restore the member from a snapshot or remove the folder and join again", d.path, err)
}

// size is that of the file.
func (d *disk) size() int64 {
	if fi, err := os.Stat(d.path); err == nil {
		return fi.Size()
	}
	return 0
}

// defragment copies what is in use into a new file and puts that in the old one's place. Raft waits meanwhile.
func (d *disk) defragment() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	tmp := d.path + ".new"
	defer os.Remove(tmp)
	if err := d.BoltStore.Close(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.open()) }()
	src, err := bbolt.Open(d.path, 0o600, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := bbolt.Open(tmp, 0o600, &bbolt.Options{Timeout: time.Second})
	if err != nil {
		return err
	}
	if err := errors.Join(bbolt.Compact(dst, src, 1<<20), dst.Sync(), dst.Close()); err != nil {
		return err
	}
	return os.Rename(tmp, d.path)
}

// The methods of raft.LogStore and raft.StableStore, each waiting while the file is replaced.

func (d *disk) FirstIndex() (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.FirstIndex()
}

func (d *disk) LastIndex() (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.LastIndex()
}

func (d *disk) GetLog(index uint64, log *raft.Log) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.GetLog(index, log)
}

func (d *disk) StoreLog(log *raft.Log) error { return d.StoreLogs([]*raft.Log{log}) }

func (d *disk) StoreLogs(logs []*raft.Log) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.StoreLogs(logs)
}

func (d *disk) DeleteRange(from, to uint64) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.DeleteRange(from, to)
}

func (d *disk) Set(key, val []byte) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.Set(key, val)
}

func (d *disk) Get(key []byte) ([]byte, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.Get(key)
}

func (d *disk) SetUint64(key []byte, val uint64) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.SetUint64(key, val)
}

func (d *disk) GetUint64(key []byte) (uint64, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.BoltStore.GetUint64(key)
}
