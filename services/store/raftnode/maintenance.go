package raftnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hashicorp/raft"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/watch"
)

// Status describes this member.
type Status struct {
	mvcc.Stats
	Name, Leader       string
	Leads              bool
	Term               uint64
	LastIndex, Applied uint64
	QuotaBytes         int64
	LogFileBytes       int64
	Proposals          int
	Watch              watch.Figures
	LogStore           LogStore
	Version            string
	Alarms             []Alarm
	// LeaderChanges counts the leaders that the member has seen come since it started.
	LeaderChanges int64
	// Problem is why the member is not fit to serve, nil when it is.
	Problem error
}

// Status describes this member as it is, without asking the others.
func (n *Node) Status() Status {
	_, leader := n.raft.LeaderWithID()
	return Status{
		Stats: n.fsm.hub.View().Stats(), Name: n.cfg.Name, Leader: string(leader), Leads: n.isLeader(),
		Term: n.raft.CurrentTerm(), LastIndex: n.raft.LastIndex(), Applied: n.fsm.applied.Load(),
		LogStore: n.disk.kind, Version: n.cfg.Version, Alarms: n.Alarms(), Problem: n.Problem(), LeaderChanges: n.elections.Load(),
		QuotaBytes: n.cfg.QuotaBytes, LogFileBytes: n.disk.size(), Watch: n.fsm.hub.Figures(), Proposals: n.proposer.waiting(),
	}
}

// WriteSnapshot streams the content of this member.
func (n *Node) WriteSnapshot(w io.Writer) error { return n.fsm.snapshot().Write(w) }

// TakeSnapshot makes Raft take a snapshot now and cut its log. It returns nil when there is nothing new.
func (n *Node) TakeSnapshot() error {
	if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return err
	}
	return nil
}

// restorePrefix begins the name of the file that holds a restore while it is made.
const restorePrefix = "restore-"

// Restore replaces the content of the whole store by the snapshot read from r, and returns the revision from which it
// goes on. Only the leader can.
func (n *Node) Restore(ctx context.Context, r io.Reader) (int64, error) {
	if !n.isLeader() {
		return 0, kv.ErrNoLeader
	}
	s, _, err := mvcc.Restore(r)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", kv.ErrInvalid, err)
	}
	if err := n.linearize(ctx); err != nil {
		return 0, err
	}
	s.Supersede(n.fsm.hub.View().Stats(), n.fsm.members(), mvcc.RestoreStep)
	tmp, err := os.CreateTemp(n.cfg.DataDir, restorePrefix+"*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if err := s.Snapshot().Write(tmp); err != nil {
		return 0, fmt.Errorf("preparing the restore: %w", err)
	}
	size, err := tmp.Seek(0, io.SeekCurrent)
	if err == nil {
		_, err = tmp.Seek(0, io.SeekStart)
	}
	if err != nil {
		return 0, err
	}
	if err := changeError(n.raft.Restore(&raft.SnapshotMeta{Version: raft.SnapshotVersionMax, Size: size}, tmp, changeTimeout)); err != nil {
		return 0, err
	}
	n.fsm.promote()
	// An entry of ours, so that a member that got the snapshot knows how far it is.
	_, err = n.do(ctx, &storev1.Command{Command: &storev1.Command_Alarm{Alarm: &storev1.AlarmCommand{}}})
	return n.fsm.hub.View().Revision(), err
}

// Defragment rewrites this member's log file. It holds up the member while it runs.
func (n *Node) Defragment() (before, after int64, err error) {
	before = n.disk.size()
	if err := n.disk.defragment(); err != nil {
		return 0, 0, fmt.Errorf("defragmenting the store's log: %w", err)
	}
	return before, n.disk.size(), nil
}

// Append describes a write to this member's log: the flush of the disk is nearly all of the time that it took.
type Append struct {
	Entries, Bytes int
	Took           time.Duration
}

// OnAppend sets a function that is told of each write to the log. It must not block.
func (n *Node) OnAppend(fn func(Append)) { n.disk.observe.Store(&fn) }
