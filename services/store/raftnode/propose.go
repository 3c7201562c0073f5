package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

const (
	// An entry is closed when it has this many bytes or commands; one command may be larger than that.
	maxEntryBytes    = 1 << 20
	maxEntryCommands = 1024
	// queueLength bounds the commands that wait; who finds it full waits to get in.
	queueLength = 4096
)

// Field numbers of RaftEntry, of which entries are put together from commands that are encoded already.
const (
	fieldCommands   = 1
	fieldQuotaBytes = 2
)

// proposal is a command that waits to be part of an entry.
type proposal struct {
	ctx  context.Context
	data []byte // an encoded Command
	done chan outcome
}

// proposer gathers commands into log entries, one entry in flight at a time: what arrives meanwhile forms the next.
type proposer struct {
	raft  *raft.Raft
	quota int64
	queue chan *proposal
	// closed ends the wait of everybody when the node ends.
	closed <-chan struct{}
	// since is when the entry in flight was handed to Raft, in nanoseconds of the node's clock; 0 when there is none.
	since atomic.Int64
	now   func() int64
	// observe is told the size of each entry.
	observe func(commands, bytes int)
}

// propose waits until cmd is applied here, which is the leader.
func (p *proposer) propose(ctx context.Context, cmd *storev1.Command) (outcome, error) {
	data, err := proto.Marshal(cmd) // here, by the caller: the proposer's time is everybody's
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %w", kv.ErrInvalid, err)
	}
	pr := &proposal{ctx: ctx, data: data, done: make(chan outcome, 1)}
	select {
	case p.queue <- pr:
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-p.closed:
		return outcome{}, kv.ErrClosed
	}
	select {
	case o := <-pr.done:
		return o, o.err
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-p.closed:
		return outcome{}, fmt.Errorf("%w: the store is shutting down", kv.ErrOutcomeUnknown)
	}
}

// run is the only goroutine that proposes, until ctx ends.
func (p *proposer) run(ctx context.Context) {
	var batch []*proposal
	for {
		select {
		case <-ctx.Done():
			return
		case pr := <-p.queue:
			batch = p.gather(batch[:0], pr)
			p.commit(batch)
			clear(batch)
		}
	}
}

// gather takes what waits, up to the size of an entry.
func (p *proposer) gather(batch []*proposal, first *proposal) []*proposal {
	batch = append(batch, first)
	size := len(first.data)
	for size < maxEntryBytes && len(batch) < maxEntryCommands {
		select {
		case pr := <-p.queue:
			if pr.ctx.Err() != nil {
				pr.done <- outcome{err: pr.ctx.Err()}
				continue
			}
			batch = append(batch, pr)
			size += len(pr.data)
		default:
			return batch
		}
	}
	return batch
}

// commit proposes a batch as one entry and hands out the outcomes.
func (p *proposer) commit(batch []*proposal) {
	size := 16
	for _, pr := range batch {
		size += len(pr.data) + 8
	}
	data := make([]byte, 0, size) // Raft keeps it
	for _, pr := range batch {
		data = protowire.AppendTag(data, fieldCommands, protowire.BytesType)
		data = protowire.AppendBytes(data, pr.data)
	}
	data = protowire.AppendTag(data, fieldQuotaBytes, protowire.VarintType)
	data = protowire.AppendVarint(data, uint64(p.quota))
	p.observe(len(batch), len(data))

	p.since.Store(p.now())
	future := p.raft.Apply(data, 0)
	err := future.Error()
	p.since.Store(0)
	if err != nil {
		err = proposeError(err)
		for _, pr := range batch {
			pr.done <- outcome{err: err}
		}
		return
	}
	for i, o := range future.Response().([]outcome) {
		batch[i].done <- o
	}
}

// proposeError tells a command that certainly was not taken from one of which nobody knows.
func proposeError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader), errors.Is(err, raft.ErrLeadershipTransferInProgress), errors.Is(err, raft.ErrEnqueueTimeout):
		return kv.ErrNoLeader
	}
	return fmt.Errorf("%w (%w)", kv.ErrOutcomeUnknown, err)
}
