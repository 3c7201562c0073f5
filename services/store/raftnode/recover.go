package raftnode

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/lease"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// RecoverConfig names the member that a cluster begins anew with.
type RecoverConfig struct {
	// Name and DataDir are those of a member that is not running.
	Name, DataDir string
	// AdvertiseAddr is the host:port of its Raft port from now on; empty keeps the one that it had.
	AdvertiseAddr string
	Logger        *slog.Logger
}

// Recovered says what a member holds that was made a cluster of its own.
type Recovered struct {
	mvcc.Stats
	// Index is that of the last log entry that it had.
	Index uint64
	// ClusterID is that of the new cluster.
	ClusterID uint64
	// AdvertiseAddr is that of the member.
	AdvertiseAddr string
}

// Recover makes the data folder of a member that is not running into that of a cluster which has this member alone: the
// way back when the majority of a cluster is lost for good. All entries of its log count as committed, whether they were or
// not; what the lost members alone had acknowledged is gone. Because of that the revisions go on a good way above those
// that this member knows, and watches that begin before are told to list again, as after a restore. The other members of
// the old cluster, should they come back, do not talk to this one; they must join with empty folders.
//
// It is done whole, or the folder is refused by Open until it is done again.
func Recover(c RecoverConfig) (out Recovered, err error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	cfg := Config{Name: c.Name, DataDir: c.DataDir, Clock: clock.RealClock{}, Logger: c.Logger}
	switch {
	case c.Name == "":
		return out, errors.New("the store member has no name: set one")
	case c.DataDir == "":
		return out, errors.New("the store has no data folder: set one")
	}
	if err := checkRecoverable(c.DataDir); err != nil {
		return out, err
	}
	st, err := openStorage(&cfg)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, st.disk.Close()) }()
	if !st.existing {
		return out, fmt.Errorf("the data folder %s holds nothing to recover: name the folder of a member of the lost cluster", c.DataDir)
	}
	if out.AdvertiseAddr = c.AdvertiseAddr; out.AdvertiseAddr == "" {
		if out.AdvertiseAddr, err = st.addressOf(c.Name); err != nil {
			return out, err
		}
	}
	if err := beginUnfinished(c.DataDir, recoverText, "run it again"); err != nil {
		return out, err
	}
	if out, err = recoverMember(&cfg, st, out); err != nil {
		return out, fmt.Errorf("recovering the data folder %s: %w", c.DataDir, err)
	}
	return out, endUnfinished(c.DataDir)
}

func recoverMember(cfg *Config, st *storage, out Recovered) (Recovered, error) {
	rc := raft.DefaultConfig()
	rc.LocalID, rc.Logger = raft.ServerID(cfg.Name), newRaftLogger(cfg.Logger)
	_, trans := raft.NewInmemTransport(raft.ServerAddress(out.AdvertiseAddr))
	defer trans.Close()
	last, err := st.disk.LastIndex()
	if err != nil {
		return out, err
	}
	// First: from now on this is another cluster.
	peer := Peer{Name: cfg.Name, Address: out.AdvertiseAddr}
	if err := st.identity.write(newCluster([]Peer{peer}, "")); err != nil {
		return out, err
	}
	f := &recoveryFSM{fsm: newFSM(lease.New(cfg.Clock), cfg.Clock.Now, cfg.Logger)}
	one := raft.Configuration{Servers: []raft.Server{{ID: raft.ServerID(peer.Name), Address: raft.ServerAddress(peer.Address)}}}
	if err := raft.RecoverCluster(rc, f, st.disk, st.disk, st.snapshots, trans, one); err != nil {
		return out, err
	}
	out.Stats, out.Index, out.ClusterID = f.state.Stats(), max(last, f.applied.Load()), st.identity.cluster.Load()
	return out, nil
}

// recoveryFSM is a state machine whose snapshot is that of a store which begins anew.
type recoveryFSM struct{ *fsm }

func (f *recoveryFSM) Snapshot() (raft.FSMSnapshot, error) {
	f.state.Supersede(f.state.Stats(), nil, mvcc.RestoreStep)
	return f.fsm.Snapshot()
}

const recoverText = "a recovery"

// checkRecoverable lets a recovery that was interrupted be done again.
func checkRecoverable(dir string) error {
	return finishInterrupted(dir, recoverText)
}

// addressOf is the Raft address of a member in the newest configuration on disk.
func (s *storage) addressOf(name string) (string, error) {
	var c raft.Configuration
	snaps, err := s.snapshots.List()
	if err != nil {
		return "", err
	}
	var from uint64
	if len(snaps) > 0 {
		c, from = snaps[0].Configuration, snaps[0].Index
	}
	first, err := s.disk.FirstIndex()
	if err != nil {
		return "", err
	}
	last, err := s.disk.LastIndex()
	if err != nil {
		return "", err
	}
	for i := max(first, from+1, 1); i <= last; i++ {
		var l raft.Log
		if err := s.disk.GetLog(i, &l); err != nil {
			return "", err
		}
		if l.Type == raft.LogConfiguration {
			c = raft.DecodeConfiguration(l.Data)
		}
	}
	for _, srv := range c.Servers {
		if string(srv.ID) == name {
			return string(srv.Address), nil
		}
	}
	return "", fmt.Errorf("member %q is not part of the configuration that it knows: give the address of its Raft port", name)
}
