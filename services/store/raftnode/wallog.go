package raftnode

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	wal "github.com/hashicorp/raft-wal"
	"github.com/hashicorp/raft-wal/fs"
	"github.com/hashicorp/raft-wal/segment"
	"github.com/hashicorp/raft-wal/types"
)

const (
	// walDir holds the log of kind LogWAL: segment files, and walMetaFile that lists them.
	walDir = "wal"
)

// walSegment is the size of a segment file, which it has from the start. Tests make smaller ones.
var walSegment = 32 << 20

// walLog is a log in segment files.
type walLog struct {
	*wal.WAL
	dir  string
	tail *walTail
}

// openWAL opens the log in dir, or makes one unless it is old.
func openWAL(dir string, old bool, logger hclog.Logger) (_ *walLog, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the store's data folder is not writable: %w: check its owner and permissions", err)
	}
	meta, err := loadWALMeta(dir, old)
	if err != nil {
		return nil, err
	}
	tail, err := openWALTail(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			tail.Close()
		}
	}()
	if err := prepareWAL(dir, meta, tail); err != nil {
		return nil, err
	}
	// A segment that a crash left before its name was flushed: the library flushes it for those it made itself alone.
	if err := syncDir(dir); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(dir)); err != nil {
		return nil, err
	}
	w, err := wal.Open(dir, wal.WithMetaStore(meta), wal.WithSegmentFiler(segment.NewFiler(dir, walFS{FS: fs.New(), meta: meta})),
		wal.WithSegmentSize(walSegment), wal.WithLogger(logger), wal.WithCodec(meta.codec()))
	if err != nil {
		return nil, damaged(dir, "it cannot be opened: %v", err)
	}
	return &walLog{WAL: w, dir: dir, tail: tail}, nil
}

func (l *walLog) size() (n int64) {
	entries, _ := os.ReadDir(l.dir)
	for _, e := range entries {
		if fi, err := e.Info(); err == nil {
			n += fi.Size()
		}
	}
	return n
}

// defragment has nothing to do: segments are deleted whole as the log is cut.
func (l *walLog) defragment() error { return nil }

// walFS makes a new segment last before anything is written to it, and notes that it does. From then on a segment that is
// missing or too short is known to be damaged; before, it is one that a crash left half-made.
type walFS struct {
	*fs.FS
	meta *walMeta
}

func (f walFS) Create(dir, name string, size uint64) (types.WritableFile, error) {
	if err := os.Remove(filepath.Join(dir, name)); err != nil && !os.IsNotExist(err) { // half-made
		return nil, err
	}
	file, err := f.FS.Create(dir, name, size)
	if err != nil {
		return nil, err
	}
	var base, id uint64
	if _, err = fmt.Sscanf(strings.TrimSuffix(name, ".wal"), "%020d-%016x", &base, &id); err == nil {
		if err = file.Sync(); err == nil { // the first one flushes the folder too
			err = f.meta.noteSegment(id)
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
