package raftnode

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/raft"
)

const (
	snapshotDir = "snapshots"
	// snapshotSumFile, beside a snapshot, is the checksum of what its meta.json says; that has none of its own.
	snapshotSumFile   = "meta.sum"
	snapshotStateFile = "state.bin" // the content
	snapshotMetaFile  = "meta.json"
	// damagedSuffix is that of a snapshot that was put aside; its end makes the library pass over it.
	damagedSuffix = ".damaged.tmp"
	snapshotsKept = 2
)

// snapshotStore keeps Raft's snapshots, each a folder. The library's store checks the content of a snapshot when it reads
// it; added here are a checksum of the rest, a flush that the library leaves out, and that a damaged snapshot is not
// passed over when that would lose something.
type snapshotStore struct {
	*raft.FileSnapshotStore
	dir string
	// onOpen, when set, is told the last log entry of each snapshot that is opened.
	onOpen func(index uint64)
}

// openSnapshots opens the snapshots in a data folder.
func openSnapshots(dataDir string, log *slog.Logger) (*snapshotStore, error) {
	inner, err := raft.NewFileSnapshotStoreWithLogger(dataDir, snapshotsKept, newRaftLogger(log))
	if err != nil {
		return nil, fmt.Errorf("the store's snapshots in %s cannot be used: %w: check the folder's owner and permissions, and that its disk is not full", dataDir, err)
	}
	return &snapshotStore{FileSnapshotStore: inner, dir: filepath.Join(dataDir, snapshotDir)}, nil
}

// Create implements raft.SnapshotStore.
func (s *snapshotStore) Create(version raft.SnapshotVersion, index, term uint64, c raft.Configuration, cIndex uint64, t raft.Transport) (raft.SnapshotSink, error) {
	sink, err := s.FileSnapshotStore.Create(version, index, term, c, cIndex, t)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.dir, sink.ID()+".tmp")
	meta := &raft.SnapshotMeta{Index: index, Term: term, Configuration: c, ConfigurationIndex: cIndex}
	// It also flushes the names in the folder, which has all its files already.
	if err := writeFile(filepath.Join(dir, snapshotSumFile), metaSum(meta)); err != nil {
		return nil, errors.Join(err, sink.Cancel())
	}
	return sink, nil
}

func metaSum(m *raft.SnapshotMeta) []byte {
	sum := crc32.Checksum(fmt.Appendf(nil, "%d %d %d %x", m.Index, m.Term, m.ConfigurationIndex, raft.EncodeConfiguration(m.Configuration)), castagnoli)
	return fmt.Appendf(nil, "%08x\n", sum)
}

// name is a snapshot by the name of its folder: term, index, time.
type snapshotName struct {
	name              string
	term, index, time uint64
}

// names lists the finished snapshots, the newest first.
func (s *snapshotStore) names() ([]snapshotName, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("the store's snapshots cannot be read: %w", err)
	}
	var out []snapshotName
	for _, e := range entries {
		n := snapshotName{name: e.Name()}
		if !e.IsDir() || strings.HasSuffix(n.name, ".tmp") {
			continue
		}
		if _, err := fmt.Sscanf(n.name, "%d-%d-%d", &n.term, &n.index, &n.time); err == nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b snapshotName) int {
		for _, d := range []int64{int64(b.term) - int64(a.term), int64(b.index) - int64(a.index), int64(b.time) - int64(a.time)} {
			if d != 0 {
				return int(max(-1, min(1, d)))
			}
		}
		return 0
	})
	return out, nil
}

// check reads a snapshot through.
func (s *snapshotStore) check(n snapshotName) error {
	path := filepath.Join(s.dir, n.name)
	meta, content, err := s.FileSnapshotStore.Open(n.name) // compares the content's checksum
	if err != nil {
		return damaged(path, "%v", err)
	}
	content.Close()
	state, err := os.Stat(filepath.Join(path, snapshotStateFile))
	if err != nil {
		return damaged(path, "%v", err)
	}
	want, err := os.ReadFile(filepath.Join(path, snapshotSumFile))
	switch {
	case err != nil:
		return damaged(path, "%v", err)
	case meta.Term != n.term || meta.Index != n.index || meta.ID != n.name || meta.Version != raft.SnapshotVersionMax || meta.Size != state.Size() ||
		string(want) != string(metaSum(meta)):
		return damaged(path, "its meta.json has a wrong checksum")
	}
	return nil
}

// verify checks the newest snapshot and returns the index of the last log entry in it, 0 when there is none. A damaged one
// is put aside when an older one, or the beginning, and the log, which begins and ends with first and last, have all that
// it had.
func (s *snapshotStore) verify(first, last uint64, log *slog.Logger) (uint64, error) {
	names, err := s.names()
	if err != nil {
		return 0, err
	}
	var bad []snapshotName
	var why error
	for i, n := range names {
		err := s.check(n)
		if err == nil {
			if why != nil && (first == 0 || first > n.index+1 || last < bad[0].index) {
				return 0, why
			}
			s.sweep(names[i+1:], log)
			return n.index, s.putAside(bad, log)
		}
		bad = append(bad, n)
		if why == nil {
			why = err
		}
	}
	if why != nil && (first != 1 || last < bad[0].index) {
		return 0, why
	}
	s.sweep(nil, log)
	return 0, s.putAside(bad, log)
}

// sweep removes what a crash left of snapshots that were being written, and of those that were being deleted: nobody else
// does, and each can be as large as the store. older are those before the newest one.
func (s *snapshotStore) sweep(older []snapshotName, log *slog.Logger) {
	var left []string
	for _, n := range older {
		if _, err := os.Stat(filepath.Join(s.dir, n.name, snapshotMetaFile)); errors.Is(err, os.ErrNotExist) {
			left = append(left, n.name)
		}
	}
	entries, err := os.ReadDir(s.dir)
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".tmp") && !strings.HasSuffix(name, damagedSuffix) {
			left = append(left, name)
		}
	}
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, name)))
	}
	if err != nil {
		log.Warn("what a crash left of a snapshot cannot be removed, it takes space", "path", s.dir, "err", err)
	}
}

// putAside renames damaged snapshots, so that nobody takes them for one.
func (s *snapshotStore) putAside(bad []snapshotName, log *slog.Logger) error {
	for _, n := range bad {
		path := filepath.Join(s.dir, n.name)
		log.Warn("a snapshot is damaged, what it holds is taken from the one before and from the log", "path", path)
		if err := os.Rename(path, path+damagedSuffix); err != nil {
			return err
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return syncDir(s.dir)
}

// Open implements raft.SnapshotStore; it checks what it opens.
func (s *snapshotStore) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	var n snapshotName
	if _, err := fmt.Sscanf(id, "%d-%d-%d", &n.term, &n.index, &n.time); err == nil && s.onOpen != nil {
		s.onOpen(n.index) // first: reading it through takes its time
	}
	meta, content, err := s.FileSnapshotStore.Open(id)
	if err != nil {
		err = damaged(filepath.Join(s.dir, id), "%v", err)
	}
	return meta, content, err
}
