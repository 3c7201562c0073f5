package client

import (
	"context"
	"errors"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// pipeline carries calls to whichever member takes them best: one lane to each member, all of which stay open. Writes and
// small reads go to the leader when its lane is up, else to any member, which passes writes on.
type pipeline struct {
	lanes []*lane

	mu sync.Mutex
	// homeless are calls that wait for a lane to come up.
	homeless []*call
	// turn chooses among lanes that are equally good.
	turn   int
	closed bool
}

// call is one call on its way. Its fields but done are the pipeline's, under its lock, until done has a value.
type call struct {
	kind    wire.CallKind
	payload []byte
	done    chan struct{} // gets one value
	answer  wire.Item
	err     error
	// lane is where the call was sent, with what id; nil when it was not sent.
	lane *lane
	id   uint64
	// left: the caller does not wait any more.
	left bool
}

// errLost is what becomes of calls that were sent on a lane that broke.
func errLost(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return status.Error(codes.Unavailable, s.Message())
	}
	return status.Error(codes.Unavailable, "the stream to the store ended")
}

// do makes a call and waits for its answer. An error that wire.Disconnected knows means that the call was sent and that
// nobody knows what became of it; what was not sent moves to another lane by itself.
func (p *pipeline) do(ctx context.Context, kind wire.CallKind, payload []byte) (wire.Item, error) {
	c := &call{kind: kind, payload: payload, done: make(chan struct{}, 1)}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return wire.Item{}, kv.ErrClosed
	}
	p.place(c)
	p.mu.Unlock()
	select {
	case <-c.done:
		if c.err != nil {
			return wire.Item{}, c.err
		}
		return c.answer, c.answer.Err(kind)
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		c.left = true
		if c.lane != nil {
			delete(c.lane.sent, c.id)
		}
		return wire.Item{}, ctx.Err()
	}
}

// finish wakes the caller. mu is held, and the call is in no list any more.
func (c *call) finish(answer wire.Item, err error) {
	c.answer, c.err = answer, err
	c.done <- struct{}{}
}

// place puts a call on the best lane. mu is held.
func (p *pipeline) place(c *call) {
	l := p.best()
	if l == nil {
		p.homeless = append(p.homeless, c)
		return
	}
	l.queue = append(l.queue, c)
	l.ring()
}

// best is the leader's lane, else the next one that is up, nil when none is. mu is held.
func (p *pipeline) best() *lane {
	var found *lane
	for i := range p.lanes {
		l := p.lanes[(p.turn+i)%len(p.lanes)]
		switch {
		case !l.up || l.drains:
		case l.leads:
			return l
		case found == nil:
			found = l
			defer func() { p.turn += i + 1 }()
		}
	}
	return found
}

// settle finds a lane for calls that have none. mu is held.
func (p *pipeline) settle() {
	calls := p.homeless
	p.homeless = nil
	for _, c := range calls {
		if !c.left {
			p.place(c)
		}
	}
}

// refuse ends calls that have no lane, when a member has said that it will not take them.
func (p *pipeline) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.best() != nil {
		return
	}
	for _, c := range p.homeless {
		if !c.left {
			c.finish(wire.Item{}, err)
		}
	}
	p.homeless = nil
}

// close ends what is left when all lanes have ended.
func (p *pipeline) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.homeless {
		c.finish(wire.Item{}, kv.ErrClosed)
	}
	p.homeless = nil
}

// transient reports whether an error that ended a lane, or kept it from opening, may go away by itself.
func transient(err error) bool {
	switch status.Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.Unimplemented:
		return false
	}
	return !errors.Is(err, context.Canceled)
}
