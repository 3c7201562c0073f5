package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"
)

// LogStore is a kind of log on disk.
type LogStore string

// Kinds of log. The one of a data folder is chosen when the folder is new and cannot be changed.
const (
	// LogBolt is a B+tree in one file: two flushes a commit, a file that keeps its size until it is defragmented.
	LogBolt LogStore = "boltdb"
	// LogWAL appends to segment files: one flush a commit, files that go as the log is cut.
	LogWAL LogStore = "wal"
	// DefaultLogStore is that of a new folder when none is asked for.
	DefaultLogStore = LogBolt
)

// ParseLogStore checks a kind that somebody wrote; an empty one leaves the choice to the folder.
func ParseLogStore(s string) (LogStore, error) {
	switch k := LogStore(s); k {
	case "", LogBolt, LogWAL:
		return k, nil
	}
	return "", fmt.Errorf("there is no log store %q: choose %s or %s", s, LogBolt, LogWAL)
}

// logStore is a log with votes on disk, as the Raft library sees it. What it returns has been read from the disk and is
// checked by its caller; an error of a write means that nobody knows what is on the disk.
type logStore interface {
	raft.LogStore
	raft.StableStore
	// IsMonotonic says that there can be no gap in the log.
	IsMonotonic() bool
	// size is the space taken on the disk, in bytes.
	size() int64
	// defragment gives back space that is not used. No other call runs meanwhile.
	defragment() error
	Close() error
}

// openLogStore opens the log in dir, or makes one. An old log that is not whole is an error wrapping ErrDamaged.
func openLogStore(dir string, kind LogStore, old bool, logger hclog.Logger) (logStore, error) {
	if kind == LogWAL {
		return openWAL(filepath.Join(dir, walDir), old, logger)
	}
	return openBolt(filepath.Join(dir, logFile), old)
}

// logKind says of which kind the log in dir is, empty when there is none.
func logKind(dir string) (LogStore, error) {
	var kind LogStore
	for k, name := range map[LogStore]string{LogBolt: logFile, LogWAL: filepath.Join(walDir, walMetaFile)} {
		switch _, err := os.Stat(filepath.Join(dir, name)); {
		case errors.Is(err, os.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("the store's data folder cannot be read: %w", err)
		case kind != "":
			return "", fmt.Errorf("the data folder %s has two logs, %s and %s: move away the one that is not in use", dir, logFile, walDir)
		default:
			kind = k
		}
	}
	return kind, nil
}

// ErrDamaged is wrapped when a file of the data folder does not hold what was written to it.
var ErrDamaged = errors.New("damaged")

// damaged is an error about a file whose content is wrong. The remedy is the same whichever file it is: what this member
// acknowledged may be gone, so it must not vote or acknowledge anything on the strength of what is left.
func damaged(path, format string, args ...any) error {
	return &damage{path: path, what: fmt.Sprintf(format, args...)}
}

type damage struct{ path, what string }

func (d *damage) Error() string {
	return fmt.Sprintf("the store's file %s is damaged: %s: in a cluster of several members, remove this member and its data folder and let it join "+
		"again; a single member is restored from a snapshot (docs/OPERATIONS.md, \"A damaged file\")", d.path, d.what)
}

func (d *damage) Is(target error) bool { return target == ErrDamaged }
