package raftnode

import (
	"context"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Position is how far a member is: what it shows and in whose term.
type Position struct {
	Revision, CompactRevision int64
	Term                      uint64
}

// Position of this member, cheap enough to go with every answer. It asks nobody.
func (n *Node) Position() Position {
	v := n.fsm.hub.View()
	return Position{Revision: v.Revision(), CompactRevision: v.CompactRevision(), Term: n.raft.CurrentTerm()}
}

// Leader is the name of the leader as this member knows it, empty when it knows none.
func (n *Node) Leader() string {
	_, name := n.raft.LeaderWithID()
	return string(name)
}

// WaitLeader waits until this member knows the named one as the leader.
func (n *Node) WaitLeader(ctx context.Context, name string) error {
	for {
		changed := n.changed.wait()
		if n.Leader() == name {
			return nil
		}
		select {
		case <-changed:
		case <-time.After(retryPause): // the library may leave a change untold
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return kv.ErrClosed
		}
	}
}

// Name is this member's.
func (n *Node) Name() string { return n.cfg.Name }

// KeysHash is the hash of what this member has at a revision; 0 means its newest. Members whose answers name the same
// two revisions hold the same content exactly when the hashes are equal. Errors: kv.ErrCompacted, kv.ErrFutureRevision.
func (n *Node) KeysHash(revision int64) (hash uint32, at, compactRevision int64, err error) {
	v := n.fsm.hub.View()
	if revision == 0 {
		revision = v.Revision()
	}
	hash, err = v.HashKeys(revision)
	return hash, revision, v.CompactRevision(), err
}
