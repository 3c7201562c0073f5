package raftnode

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/orrery-io/orrery/services/store/kv"
)

// contacts knows of each follower the latest call that it answered as a follower of this leader, by when that call was sent.
//
// The library confirms its leadership by any answers that arrive after it was asked, also by those to calls that it had sent
// before. A leader that was stopped for a while, or whose packets were, finds such answers in its sockets when it goes on,
// although the others follow a new one by now.
type contacts struct {
	mu   sync.Mutex
	term uint64
	sent map[raft.ServerID]time.Time
}

// answered notes that a follower accepted, in a term, a call that was sent at a time.
func (c *contacts) answered(id raft.ServerID, term uint64, sent time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if term > c.term {
		c.term, c.sent = term, map[raft.ServerID]time.Time{}
	}
	if term == c.term && sent.After(c.sent[id]) {
		c.sent[id] = sent
	}
}

// majority reports whether more than half of the voters, self among them, followed the leader of a term after a moment.
func (c *contacts) majority(servers []raft.Server, self raft.ServerID, term uint64, after time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	voters, with := 0, 0
	for _, s := range servers {
		if s.Suffrage != raft.Voter {
			continue
		}
		voters++
		if s.ID == self || c.term == term && c.sent[s.ID].After(after) {
			with++
		}
	}
	return 2*with > voters
}

// confirm returns without an error when this member led, in a term, at some moment after the call.
func (n *Node) confirm(ctx context.Context, term uint64) error {
	begun := time.Now() // of the same clock as the library's
	for {
		if err := wait(n.raft.VerifyLeader(), n.raftEnded); err != nil || n.raft.CurrentTerm() != term {
			return kv.ErrNoLeader
		}
		voters := n.raft.GetConfiguration()
		if err := voters.Error(); err != nil {
			return err
		}
		if n.contacts.majority(voters.Configuration().Servers, raft.ServerID(n.cfg.Name), term, begun) {
			return nil
		}
		if err := ctx.Err(); err != nil { // what came was old: the next round sends anew
			return err
		}
	}
}
