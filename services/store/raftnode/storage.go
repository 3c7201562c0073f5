package raftnode

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/raft"
)

// storage is all that a member has on disk.
type storage struct {
	disk      *disk
	identity  *identity
	snapshots *snapshotStore
	// existing says that the member was part of a cluster before.
	existing bool
	// begun says that a crash interrupted the making of a new cluster: its first term is there, its first entry is not.
	begun bool
}

// bootstrapTerm is the term of the first entry of a log; leaders have later ones.
const bootstrapTerm = 1

// openStorage takes the data folder, makes what is not there, and reads through all that is: a member with anything
// missing or changed must not vote or acknowledge.
func openStorage(cfg *Config) (_ *storage, err error) {
	if err := checkFinished(cfg.DataDir); err != nil {
		return nil, err
	}
	if err := makeFolder(cfg.DataDir); err != nil {
		return nil, fmt.Errorf("the store's data folder cannot be made: %w: check the path and its permissions", err)
	}
	id, stranger, err := openIdentity(cfg.DataDir, cfg.Name)
	if err != nil {
		return nil, err
	}
	d, err := openDisk(cfg.DataDir, cfg.LogStore, id.log != "", cfg.Clock, newRaftLogger(cfg.Logger))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Close())
		}
	}()
	s := &storage{disk: d, identity: id}
	if err := clearLeftovers(cfg.DataDir); err != nil {
		return nil, err
	}
	if s.snapshots, err = openSnapshots(cfg.DataDir, cfg.Logger); err != nil {
		return nil, err
	}
	first, err := d.FirstIndex()
	if err != nil {
		return nil, damaged(d.path(), "%v", err)
	}
	last, err := d.LastIndex()
	if err != nil {
		return nil, damaged(d.path(), "%v", err)
	}
	newest, err := s.snapshots.verify(first, last, cfg.Logger)
	if err != nil {
		return nil, err
	}
	if err := d.verify(newest); err != nil {
		return nil, err
	}
	if s.existing, err = raft.HasExistingState(d, d, s.snapshots); err != nil {
		return nil, fmt.Errorf("reading the store's log in %s: %w", cfg.DataDir, err)
	}
	if s.existing && last == 0 && newest == 0 {
		// A member that waits to be added to a cluster has a term of that cluster.
		if term, err := d.GetUint64([]byte(keyCurrentTerm)); err == nil && term == bootstrapTerm && d.vote.term == 0 {
			s.existing, s.begun = false, true
		}
	}
	if stranger {
		if s.existing {
			return nil, damaged(filepath.Join(cfg.DataDir, memberFile), "it is missing")
		}
		if err := id.write(0); err != nil {
			return nil, err
		}
	}
	return s, id.setLog(d.kind)
}

// clearLeftovers removes what a crash left half-written: nobody else does, and a snapshot may be as large as the store.
func clearLeftovers(dir string) error {
	for _, pattern := range []string{logFile + ".new", memberFile + ".new", unfinishedFile + ".new", restorePrefix + "*", filepath.Join(walDir, "*.new"), filepath.Join(snapshotDir, "*.tmp")} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, name := range names {
			if strings.HasSuffix(name, damagedSuffix) {
				continue // for whoever looks for the cause
			}
			if err := os.RemoveAll(name); err != nil {
				return fmt.Errorf("removing what a crash left: %w", err)
			}
		}
	}
	return nil
}
