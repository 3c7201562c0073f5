package raftnode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

const (
	// An entry is closed when it has this many bytes or commands; one command may be larger than that.
	maxEntryBytes    = 1 << 20
	maxEntryCommands = 1024
	// maxWaiting and maxWaitingBytes bound the commands that wait; who finds the queue full waits to get in.
	maxWaiting      = 8192
	maxWaitingBytes = 32 << 20
	// inFlight is how many entries may be on their way to the log at a time.
	inFlight = 1
)

// Field numbers of RaftEntry and Command, which are put together from encoded parts.
const (
	fieldCommands   = 1
	fieldQuotaBytes = 2
	fieldTxn        = 1
)

// completer is told what became of commands. It must not block. flush comes when all that ended together has been told.
type completer interface {
	complete(tag uint64, o outcome)
	flush()
}

// proposal is who waits for a command.
type proposal struct {
	to  completer
	tag uint64
}

// entry is a log entry in the making: commands one after the other, encoded, and who waits for each.
type entry struct {
	data      []byte
	proposals []proposal
	// began is when its first command came, proposed when it was handed to Raft.
	began, proposed time.Time
	future          raft.ApplyFuture
}

// fail tells everybody the same error.
func (e *entry) fail(err error) {
	for _, pr := range e.proposals {
		pr.to.complete(pr.tag, outcome{err: err})
	}
	e.flush()
}

// flush tells everybody once that all has been told.
func (e *entry) flush() {
	var last completer
	for _, pr := range e.proposals {
		if pr.to != last {
			pr.to.flush()
			last = pr.to
		}
	}
}

// proposer gathers commands into log entries. What arrives while as many entries as may be are in flight forms the next:
// callers encode their commands into it themselves, so the proposer's own goroutine, which is everybody's, does little.
type proposer struct {
	raft  *raft.Raft
	quota int64
	now   func() time.Time
	// closed ends the wait of everybody when the node ends.
	closed <-chan struct{}
	// raftEnded is closed when Raft will answer no more.
	raftEnded <-chan struct{}
	// observe is told of each entry, lastWrite is when the newest write to the log ended, in nanoseconds.
	observe   func(Batch)
	lastWrite func() int64
	// since is when the oldest entry in flight was handed to Raft, in nanoseconds of the node's clock; 0 when there is none.
	since atomic.Int64

	wake    chan struct{} // holds at most one wake-up
	room    signal        // the queue has got shorter
	flights chan *entry   // handed to Raft, in order
	slots   chan struct{} // one for each entry that may be in flight

	mu             sync.Mutex
	entries        []*entry // that wait; the last is open
	free           []*entry // to be used again
	commands, size int      // that wait
	ended          bool     // nothing is proposed any more
}

func newProposer(r *raft.Raft, quota int64, now func() time.Time, closed, raftEnded <-chan struct{}, observe func(Batch), lastWrite func() int64) *proposer {
	return &proposer{
		raft: r, quota: quota, now: now, closed: closed, raftEnded: raftEnded, observe: observe, lastWrite: lastWrite, wake: make(chan struct{}, 1),
		flights: make(chan *entry, inFlight), slots: make(chan struct{}, inFlight),
	}
}

// waiting is the number of commands that wait for a log entry.
func (p *proposer) waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.commands
}

// open is the entry that takes the next command of size bytes, nil when the queue is full. mu is held.
func (p *proposer) open(size int) *entry {
	if p.commands > 0 && (p.commands >= maxWaiting || p.size+size > maxWaitingBytes) {
		return nil
	}
	if n := len(p.entries); n > 0 {
		if e := p.entries[n-1]; len(e.data) < maxEntryBytes && len(e.proposals) < maxEntryCommands {
			return e
		}
	}
	e := &entry{}
	if n := len(p.free); n > 0 {
		e, p.free = p.free[n-1], p.free[:n-1]
	}
	e.began = p.now()
	p.entries = append(p.entries, e)
	return e
}

// enter notes a command that was appended to e. mu is held.
func (p *proposer) enter(e *entry, size int, to completer, tag uint64) {
	e.proposals = append(e.proposals, proposal{to, tag})
	p.commands++
	p.size += size
}

// ring wakes the proposer's goroutine.
func (p *proposer) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// waitRoom waits for the queue to get shorter; room is from before the look that found it full.
func (p *proposer) waitRoom(ctx context.Context, room <-chan struct{}) error {
	select {
	case <-room:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.closed:
		return kv.ErrClosed
	}
}

// submit queues transactions, all at once when there is room. It tells to of each, sooner or later.
func (p *proposer) submit(ctx context.Context, calls []kv.TxnCall, to completer) {
	for len(calls) > 0 {
		room := p.room.wait()
		p.mu.Lock()
		ended := p.ended
		for !ended && len(calls) > 0 {
			n := wire.SizeTxn(calls[0].Req)
			e := p.open(n)
			if e == nil {
				break
			}
			inner := protowire.SizeBytes(n) + protowire.SizeTag(fieldTxn)
			e.data = protowire.AppendTag(e.data, fieldCommands, protowire.BytesType)
			e.data = protowire.AppendVarint(e.data, uint64(inner))
			e.data = protowire.AppendTag(e.data, fieldTxn, protowire.BytesType)
			e.data = protowire.AppendVarint(e.data, uint64(n))
			e.data = wire.AppendTxn(e.data, calls[0].Req)
			p.enter(e, n, to, calls[0].Tag)
			calls = calls[1:]
		}
		p.mu.Unlock()
		p.ring()
		if len(calls) == 0 {
			return
		}
		err := kv.ErrClosed
		if !ended {
			err = p.waitRoom(ctx, room)
		}
		if err != nil {
			for _, c := range calls {
				to.complete(c.Tag, outcome{err: err})
			}
			to.flush()
			return
		}
	}
}

// waiter waits for one command.
type waiter chan outcome

func (w waiter) complete(_ uint64, o outcome) { w <- o }
func (w waiter) flush()                       {}

func (p *proposer) await(ctx context.Context, w waiter) (outcome, error) {
	select {
	case o := <-w:
		return o, o.err
	case <-ctx.Done():
		return outcome{}, ctx.Err()
	case <-p.closed:
		return outcome{}, fmt.Errorf("%w: the store is shutting down", kv.ErrOutcomeUnknown)
	}
}

// proposeTxn waits until a transaction is applied here, which is the leader.
func (p *proposer) proposeTxn(ctx context.Context, req *kv.TxnRequest) (outcome, error) {
	w := make(waiter, 1)
	p.submit(ctx, []kv.TxnCall{{Req: req}}, w)
	return p.await(ctx, w)
}

// propose waits until cmd is applied here, which is the leader.
func (p *proposer) propose(ctx context.Context, cmd *storev1.Command) (outcome, error) {
	data, err := proto.Marshal(cmd) // here, by the caller: the proposer's time is everybody's
	if err != nil {
		return outcome{}, fmt.Errorf("%w: %w", kv.ErrInvalid, err)
	}
	w := make(waiter, 1)
	for {
		room := p.room.wait()
		p.mu.Lock()
		if p.ended {
			p.mu.Unlock()
			return outcome{}, kv.ErrClosed
		}
		e := p.open(len(data))
		if e != nil {
			e.data = protowire.AppendTag(e.data, fieldCommands, protowire.BytesType)
			e.data = protowire.AppendBytes(e.data, data)
			p.enter(e, len(data), w, 0)
		}
		p.mu.Unlock()
		if e != nil {
			p.ring()
			return p.await(ctx, w)
		}
		if err := p.waitRoom(ctx, room); err != nil {
			return outcome{}, err
		}
	}
}

// run is the only goroutine that proposes, until ctx ends.
func (p *proposer) run(ctx context.Context) {
	defer p.end()
	for {
		select { // a slot first: until there is one the next entry grows
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		e := p.take()
		for e == nil {
			select {
			case <-p.wake:
				e = p.take()
			case <-ctx.Done():
				return
			}
		}
		data := protowire.AppendTag(e.data, fieldQuotaBytes, protowire.VarintType)
		data = protowire.AppendVarint(data, uint64(p.quota))
		e.data = data
		e.proposed = p.now()
		p.since.CompareAndSwap(0, e.proposed.UnixNano())
		// Raft keeps what it is given, for as long as the entry may go to another member: a copy of the right size.
		e.future = p.raft.Apply(append(make([]byte, 0, len(data)), data...), 0)
		p.flights <- e // has room for as many as there are slots
	}
}

// take removes the oldest entry that waits, nil when there is none.
func (p *proposer) take() *entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.entries) == 0 {
		return nil
	}
	e := p.entries[0]
	p.entries = append(p.entries[:0], p.entries[1:]...)
	p.commands -= len(e.proposals)
	if len(p.entries) == 0 {
		p.size = 0
	} else {
		p.size -= len(e.data)
	}
	p.room.wake()
	return e
}

// end tells everybody who waits that nothing is proposed any more.
func (p *proposer) end() {
	close(p.flights)
	p.mu.Lock()
	p.ended = true
	left := p.entries
	p.entries = nil
	p.mu.Unlock()
	for _, e := range left {
		e.fail(kv.ErrClosed)
	}
}

// land waits for the entries in flight, one after the other, and hands out their outcomes. It ends after run, when Raft has ended
// what was in flight.
func (p *proposer) land() {
	for e := range p.flights {
		p.since.Store(e.proposed.UnixNano())
		err := wait(e.future, p.raftEnded)
		p.since.Store(0)
		<-p.slots
		if err != nil {
			e.fail(proposeError(err))
		} else {
			done := e.future.Response().(*applied)
			t := &timing{queued: e.began, proposed: e.proposed, applying: done.began, applied: done.ended}
			// With one entry in flight the last write is that of this one, unless another member leads already.
			if w := time.Unix(0, p.lastWrite()); w.After(t.proposed) && w.Before(t.applied) {
				t.written = w
			}
			for i, pr := range e.proposals {
				o := done.outcomes[i]
				o.timing = t
				pr.to.complete(pr.tag, o)
			}
			e.flush()
			p.observe(Batch{Commands: len(e.proposals), Bytes: len(e.data), Queued: t.proposed.Sub(t.queued),
				Commit: t.applying.Sub(t.proposed), Apply: t.applied.Sub(t.applying)})
		}
		p.recycle(e)
	}
}

// recycle keeps an entry's memory for another one.
func (p *proposer) recycle(e *entry) {
	clear(e.proposals)
	*e = entry{data: e.data[:0], proposals: e.proposals[:0]}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) <= inFlight && cap(e.data) <= 2*maxEntryBytes {
		p.free = append(p.free, e)
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
