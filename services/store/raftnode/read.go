package raftnode

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/raft"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// leadership is one term of this member as the leader.
type leadership struct {
	term uint64
	// ready is closed when every entry of earlier terms is applied: what they acknowledged is visible from then on.
	ready chan struct{}
	// over is closed when the term has ended; ready may never come then.
	over chan struct{}
	// sole: this member is the only voter of the committed configuration, so nobody else can be leader.
	sole atomic.Bool
}

// linearize waits until this member shows every write that was acknowledged before the call.
func (n *Node) linearize(ctx context.Context) error {
	if n.Linear() {
		return nil // everything acknowledged was applied here first
	}
	return n.retry(ctx, func(ctx context.Context) error {
		index, err := n.rounds.join(ctx, n.readRound)
		if err != nil {
			return err
		}
		return n.waitApplied(ctx, index)
	})
}

// readRound finds the log index that a read must have seen, once for all reads that wait.
func (n *Node) readRound(ctx context.Context) (uint64, error) {
	if n.isLeader() {
		return n.readIndex(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, n.cfg.LeaderWait)
	defer cancel()
	var index uint64
	err := n.askLeader(limited, kv.ErrNoLeader, func(ctx context.Context, leader storev1.PeerServiceClient) error {
		resp, err := leader.ReadIndex(ctx, &storev1.ReadIndexRequest{})
		index = resp.GetIndex()
		return err
	})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return 0, kv.ErrNoLeader // a leader that does not answer is none
	}
	return index, err // a read can always be tried again
}

// readIndex answers as the leader. Everything acknowledged so far is committed here, by this term or before its barrier; that
// no other leader has acknowledged anything since is what a majority confirms.
func (n *Node) readIndex(ctx context.Context) (uint64, error) {
	l := n.lead.Load()
	if l == nil {
		return 0, kv.ErrNoLeader // elected just now: the retry finds it
	}
	select {
	case <-l.ready:
	case <-l.over:
		return 0, kv.ErrNoLeader
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-n.ctx.Done():
		return 0, kv.ErrClosed
	}
	index, err := n.committed()
	if err != nil {
		return 0, err
	}
	return index, n.confirm(ctx, l.term)
}

// tail is the last command among the entries that are committed, up to one of them.
type tail struct{ commit, command uint64 }

// committed is the index of the last command that is committed, as far as this member knows. The leader may not have applied
// it yet when another member, which learned of the commit, shows it to a reader: who reads after that one must wait for it.
func (n *Node) committed() (uint64, error) {
	commit, applied := n.raft.CommitIndex(), n.fsm.applied.Load()
	if commit <= applied {
		return applied, nil
	}
	if t := n.tail.Load(); t != nil && t.commit == commit {
		return max(t.command, applied), nil
	}
	// Entries without a command, of elections and of changes of the members, never reach the state machine.
	t := &tail{commit: commit, command: applied}
	var entry raft.Log
	for i := commit; i > applied; i-- {
		if err := n.disk.GetLog(i, &entry); errors.Is(err, raft.ErrLogNotFound) {
			break // cut off behind a snapshot: applied long ago
		} else if err != nil {
			return 0, err
		}
		if entry.Type == raft.LogCommand {
			t.command = i
			break
		}
	}
	n.tail.Store(t)
	return t.command, nil
}

// waitApplied waits until this member shows the entry at index.
func (n *Node) waitApplied(ctx context.Context, index uint64) error {
	for {
		moved := n.fsm.progress.wait()
		if n.fsm.applied.Load() >= index {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-n.ctx.Done():
			return kv.ErrClosed
		}
	}
}

func (n *Node) isLeader() bool { return n.raft.State() == raft.Leader }

// rounds lets concurrent callers share the runs of a function: who comes while a run is under way waits for the next one,
// which begins after it came.
type rounds struct {
	ctx  context.Context // of the runs
	done *sync.WaitGroup // of the goroutine that makes them

	mu      sync.Mutex
	next    *round
	running bool
}

type round struct {
	done  chan struct{}
	index uint64
	err   error
}

func (r *rounds) join(ctx context.Context, fn func(context.Context) (uint64, error)) (uint64, error) {
	r.mu.Lock()
	if r.ctx.Err() != nil {
		r.mu.Unlock()
		return 0, kv.ErrClosed
	}
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	mine := r.next
	if !r.running {
		r.running = true
		r.done.Go(func() { r.loop(fn) })
	}
	r.mu.Unlock()
	select {
	case <-mine.done:
		return mine.index, mine.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (r *rounds) loop(fn func(context.Context) (uint64, error)) {
	for {
		r.mu.Lock()
		now := r.next
		r.next = nil
		if now == nil {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		now.index, now.err = fn(r.ctx)
		if errors.Is(now.err, context.Canceled) {
			now.err = kv.ErrClosed
		}
		close(now.done)
	}
}

// peerError is the error of a call to a peer; a broken connection becomes broken.
func peerError(ctx context.Context, err, broken error) error {
	err = wire.FromStatus(ctx, err)
	if wire.Disconnected(err) {
		return broken
	}
	return err
}
