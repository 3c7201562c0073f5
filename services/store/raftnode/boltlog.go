package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
)

// logFile is the log of kind LogBolt.
const logFile = "raft.db"

// boltInitPages is how many pages bolt makes a file with. The first commit adds to them.
const boltInitPages = 4

// boltLog is a log in one bolt file.
type boltLog struct {
	*raftboltdb.BoltStore
	path string
}

// boltOptions: the free list is rebuilt at start instead of being written with every commit.
func boltOptions() *bbolt.Options {
	return &bbolt.Options{Timeout: time.Second, FreelistType: bbolt.FreelistMapType, NoFreelistSync: true}
}

// openBolt opens the file, or makes it unless it is old.
func openBolt(path string, old bool) (*boltLog, error) {
	switch fi, err := os.Stat(path); {
	case old && errors.Is(err, os.ErrNotExist):
		return nil, damaged(path, "it is missing")
	case err == nil && !old && fi.Size() <= boltInitPages*int64(os.Getpagesize()):
		// Made, and never committed to: a crash may have left it half-made.
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	case err == nil:
		if err := checkBolt(path, old); err != nil {
			return nil, err
		}
	}
	l := &boltLog{path: path}
	if err := l.open(); err != nil {
		return nil, err
	}
	if !old {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func (l *boltLog) open() (err error) {
	l.BoltStore, err = raftboltdb.New(raftboltdb.Options{Path: l.path, BoltOptions: boltOptions(), MsgpackUseNewTimeFormat: true})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bbolt.ErrTimeout):
		return inUse(filepath.Dir(l.path))
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	return damaged(l.path, "it cannot be opened: %v", err)
}

func inUse(dir string) error {
	return fmt.Errorf("the store's data folder %s is in use by another process: stop that one or choose another folder", dir)
}

func (l *boltLog) IsMonotonic() bool { return false }

func (l *boltLog) size() int64 {
	if fi, err := os.Stat(l.path); err == nil {
		return fi.Size()
	}
	return 0
}

// defragment copies what is in use into a new file and puts that in the old one's place.
func (l *boltLog) defragment() (err error) {
	tmp := l.path + ".new"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) { // of one that was interrupted
		return err
	}
	if err := l.BoltStore.Close(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.open()) }()
	if err := copyBolt(l.path, tmp); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	if err := os.Rename(tmp, l.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(l.path))
}

func copyBolt(from, to string) error {
	src, err := bbolt.Open(from, 0o600, &bbolt.Options{Timeout: time.Second, ReadOnly: true})
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := bbolt.Open(to, 0o600, boltOptions())
	if err != nil {
		return err
	}
	return errors.Join(bbolt.Compact(dst, src, 1<<20), dst.Sync(), dst.Close())
}
