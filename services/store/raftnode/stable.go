package raftnode

import (
	"encoding/binary"
	"errors"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// vote is the last vote that this member gave.
type vote struct {
	term      uint64
	candidate []byte
	// pending is a term for which the candidate is about to come.
	pending uint64
}

// Keys of the stable store: Raft's, and ours for its last vote.
const (
	keyCurrentTerm   = "CurrentTerm"
	keyLastVoteTerm  = "LastVoteTerm"
	keyLastVoteCand  = "LastVoteCand"
	keyVote          = "Vote"
	recordNotFound   = "not found" // what Raft wants to read in the error
	uint64Size       = 8
	wantedFolderMode = 0o700
)

// The stable store. Raft writes a vote as two records; a crash between them would leave a vote for a candidate whose log
// was never looked at. Here it is one.

// Set implements raft.StableStore.
func (d *disk) Set(key, val []byte) error {
	if string(key) != keyLastVoteCand {
		return d.setRecord(string(key), val)
	}
	d.voteMu.Lock()
	defer d.voteMu.Unlock()
	if err := d.setRecord(keyVote, append(binary.BigEndian.AppendUint64(nil, d.vote.pending), val...)); err != nil {
		return err
	}
	d.vote = vote{term: d.vote.pending, candidate: val, pending: d.vote.pending}
	return nil
}

// Get implements raft.StableStore.
func (d *disk) Get(key []byte) ([]byte, error) {
	if string(key) != keyLastVoteCand {
		return d.record(string(key))
	}
	d.voteMu.Lock()
	defer d.voteMu.Unlock()
	if d.vote.term == 0 {
		return nil, errors.New(recordNotFound)
	}
	return d.vote.candidate, nil
}

// SetUint64 implements raft.StableStore.
func (d *disk) SetUint64(key []byte, val uint64) error {
	if string(key) == keyLastVoteTerm {
		d.voteMu.Lock()
		defer d.voteMu.Unlock()
		d.vote.pending = val
		return nil
	}
	err := d.setRecord(string(key), binary.BigEndian.AppendUint64(nil, val))
	if string(key) == keyCurrentTerm && d.failed() != nil {
		// Raft panics when it cannot save its term. This member is ending, and neither votes nor stores entries any more:
		// it does not matter that the term is forgotten.
		return nil
	}
	return err
}

// GetUint64 implements raft.StableStore.
func (d *disk) GetUint64(key []byte) (uint64, error) {
	if string(key) == keyLastVoteTerm {
		d.voteMu.Lock()
		defer d.voteMu.Unlock()
		if d.vote.term == 0 {
			return 0, errors.New(recordNotFound)
		}
		return d.vote.term, nil
	}
	data, err := d.record(string(key))
	if err != nil {
		return 0, err
	}
	if len(data) != uint64Size {
		return 0, damaged(d.path(), "the record %s has %d bytes", key, len(data))
	}
	return binary.BigEndian.Uint64(data), nil
}

func (d *disk) loadVote() error {
	data, err := d.record(keyVote)
	switch {
	case err != nil && err.Error() == recordNotFound:
		return nil
	case err != nil:
		return err
	case len(data) < uint64Size:
		return damaged(d.path(), "the record %s has %d bytes", keyVote, len(data))
	}
	d.vote = vote{term: binary.BigEndian.Uint64(data), candidate: data[uint64Size:]}
	return nil
}

func (d *disk) setRecord(key string, val []byte) error {
	_, err := d.write(&d.writing, func() error { return d.store.Set([]byte(key), sealRecord(key, val)) })
	return err
}

func (d *disk) record(key string) ([]byte, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	data, err := d.store.Get([]byte(key))
	if err == nil && data == nil || errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, errors.New(recordNotFound)
	}
	if err != nil {
		return nil, err
	}
	if data, err = openRecord(key, data); err != nil {
		return nil, damaged(d.path(), "%v", err)
	}
	return data, nil
}
