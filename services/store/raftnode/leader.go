package raftnode

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// housekeeping is how often compaction and the log's length are looked at.
const housekeeping = 5 * time.Second

// followLeadership does the leader's work while this member leads, until ctx ends. notify tells of each change.
func (n *Node) followLeadership(ctx context.Context, notify <-chan bool) {
	stop := func() {}
	defer func() { stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case leads := <-notify:
			stop()
			stop = func() {}
			if leads {
				stop = n.startLeading(ctx)
			}
		}
	}
}

// startLeading begins a term; the function that it returns ends it and waits.
func (n *Node) startLeading(ctx context.Context) func() {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	l := &leadership{term: n.raft.CurrentTerm(), ready: make(chan struct{}), over: make(chan struct{})}
	n.lead.Store(l)
	n.changed.wake()
	done.Go(func() {
		if err := wait(n.raft.Barrier(0), n.raftEnded); err != nil || n.raft.CurrentTerm() != l.term {
			return // lost it already: the notification is on its way
		}
		n.fsm.promote()
		n.changing.Lock() // a change of the voters looks again
		l.sole.Store(n.soleVoter())
		close(l.ready)
		n.changing.Unlock()
		n.changed.wake()
		n.log.Info("this store member leads", "term", l.term)
		n.lessor.Run(ctx, n.expireLease)
	})
	return func() {
		cancel()
		n.lead.CompareAndSwap(l, nil)
		close(l.over)
		n.progress.reset()
		n.changed.wake()
		done.Wait()
		n.lessor.Demote()
	}
}

// soleVoter reports whether this member is the only voter. The configuration must be a committed one: it is, when it was
// the same before a barrier of this term.
func (n *Node) soleVoter() bool {
	future := n.raft.GetConfiguration()
	if future.Error() != nil {
		return false
	}
	for _, s := range future.Configuration().Servers {
		if s.Suffrage == raft.Voter && string(s.ID) != n.cfg.Name {
			return false
		}
	}
	return future.Index() <= n.raft.CommitIndex()
}

func (n *Node) expireLease(ctx context.Context, id int64) error {
	_, err := n.proposer.propose(ctx, &storev1.Command{Command: &storev1.Command_LeaseRevoke{LeaseRevoke: &storev1.LeaseRevokeRequest{Id: id}}})
	if errors.Is(err, kv.ErrLeaseNotFound) {
		return nil
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("revoking an expired lease failed, it is tried again", "lease", id, "err", err)
	}
	return err
}

// keepHouse looks after history and log, until ctx ends.
func (n *Node) keepHouse(ctx context.Context) {
	ticker := n.cfg.Clock.NewTicker(housekeeping)
	defer ticker.Stop()
	c := compactor{retention: n.cfg.Retention, historyBytes: n.cfg.HistoryBytes, revisions: n.cfg.HistoryRevisions}
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			n.trimLog()
			if !n.isLeader() {
				c.samples = nil
				continue
			}
			if rev := c.due(n.cfg.Clock.Now(), n.fsm.hub.View().Stats()); rev > 0 {
				err := n.Compact(ctx, rev)
				if err != nil && !errors.Is(err, kv.ErrCompacted) && ctx.Err() == nil {
					n.log.Warn("compaction failed, it is tried again", "revision", rev, "err", err)
				}
			}
		}
	}
}

// trimLog takes a snapshot when the log has grown by more bytes than configured, and adapts how many entries stay behind
// a snapshot to their size: entries hold from one command to a thousand.
func (n *Node) trimLog() {
	size, count := n.fsm.bytes.Load(), n.fsm.entries.Load()
	if size < n.cfg.SnapshotBytes || count == 0 {
		return
	}
	if n.cfg.TrailingEntries == 0 {
		rc := n.raft.ReloadableConfig()
		rc.TrailingLogs = uint64(min(max(n.cfg.SnapshotBytes/2/(size/count+1), 256), defaultSnapshotEntries))
		if err := n.raft.ReloadConfig(rc); err != nil {
			n.log.Warn("adapting the log's length failed", "err", err)
		}
	}
	if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) && !errors.Is(err, raft.ErrRaftShutdown) {
		n.log.Warn("taking a snapshot of the store failed, the log keeps growing until it works", "err", err)
	}
}
