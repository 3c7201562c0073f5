package raftnode

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/lease"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// Inspection is what the data folder of a member that is not running holds.
type Inspection struct {
	mvcc.Stats
	Name string
	// Members are those of its cluster as it knows it, itself among them.
	Members []Peer
	// LastIndex is that of its last log entry, LastTerm the term of that entry: of two members, the one with the later term
	// knows more, and in the same term the one with the higher index.
	LastIndex, LastTerm uint64
}

// Inspect reads the data folder of a member that is not running to the end of its log. What a start would refuse is
// refused here.
func Inspect(dir string) (out Inspection, err error) {
	if out.Name, err = memberName(dir); err != nil {
		return out, err
	}
	logger := slog.New(slog.DiscardHandler)
	st, err := openStorage(&Config{Name: out.Name, DataDir: dir, Clock: clock.RealClock{}, Logger: logger})
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.disk.Close()) }()
	f := newFSM(lease.New(clock.RealClock{}), clock.RealClock{}.Now, logger)
	members, err := out.replay(st, f)
	if err != nil {
		return out, fmt.Errorf("reading the data folder %s of member %q: %w", dir, out.Name, err)
	}
	for _, s := range members.Servers {
		out.Members = append(out.Members, Peer{Name: string(s.ID), Address: string(s.Address)})
	}
	out.Stats = f.state.Stats()
	return out, nil
}

// memberName is the name in a member's data folder.
func memberName(dir string) (string, error) {
	path := filepath.Join(dir, memberFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s is not the data folder of a store member, it has no %s: name that of `orrery store --data-dir`", dir, memberFile)
	}
	var have identityFile
	if err == nil {
		err = json.Unmarshal(data, &have)
	}
	if err != nil {
		return "", fmt.Errorf("the file %s, which says whose data folder it is in, cannot be read: %w", path, err)
	}
	return have.Name, nil
}

// replay brings f to the end of the log and returns the newest configuration. openStorage has made sure that the newest
// snapshot is intact and that the log follows it without a gap.
func (i *Inspection) replay(st *storage, f *fsm) (config raft.Configuration, err error) {
	snapshots, err := st.snapshots.List()
	if err != nil {
		return config, err
	}
	if len(snapshots) > 0 {
		meta, content, err := st.snapshots.Open(snapshots[0].ID)
		if err != nil {
			return config, err
		}
		if err := f.Restore(content); err != nil {
			return config, fmt.Errorf("snapshot %s: %w", meta.ID, err)
		}
		config, i.LastIndex, i.LastTerm = meta.Configuration, meta.Index, meta.Term
	}
	end, err := st.disk.LastIndex()
	if err != nil {
		return config, err
	}
	for n := i.LastIndex + 1; n <= end; n++ {
		var entry raft.Log
		if err := st.disk.GetLog(n, &entry); err != nil {
			return config, fmt.Errorf("log entry %d: %w", n, err)
		}
		switch entry.Type {
		case raft.LogCommand:
			f.Apply(&entry)
		case raft.LogConfiguration:
			config = raft.DecodeConfiguration(entry.Data)
		}
		i.LastIndex, i.LastTerm = entry.Index, entry.Term
	}
	return config, nil
}
