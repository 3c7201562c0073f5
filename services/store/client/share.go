package client

import (
	"context"
	"errors"
	"sync"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Watches of one client that ask for the same changes from now on share one watch of the store: an event crosses the
// network and is decoded once for all of them. Each has a short queue. One that reads slowly leaves the others and goes
// on, when it reads again, with a watch of its own from where it was; one that is alone slows the stream down instead.

// memberQueue is how many responses may wait for a member.
const memberQueue = 16

// groupKey is what members have in common.
type groupKey struct {
	key, end                        string
	prevKV, noPut, noDelete, notify bool
}

// groups are a client's shared watches.
type groups struct {
	mu sync.Mutex
	by map[groupKey]*group
}

// group is one watch of the store and those who follow it.
type group struct {
	c   *Client
	key groupKey
	// ready is closed when up is there, or err says why it is not.
	ready chan struct{}
	up    *watcher
	err   error
	done  chan struct{} // closed when nothing is delivered any more

	mu      sync.Mutex
	members map[*member]struct{}
	changed chan struct{} // closed when somebody joins
	// pos is the newest revision delivered.
	pos   int64
	ended bool
}

// member is one follower: a kv.Watcher.
type member struct {
	c   *Client
	req kv.WatchRequest
	g   *group
	// from is the revision before the first one to deliver, -1 when the group began with this member.
	from int64
	// queue is closed when the group ended, with err, or when the member was too slow, without.
	queue  chan kv.WatchResponse
	closed chan struct{}
	once   sync.Once
	// last and err are the group's until it closes the queue. wants is under the group's lock: a notice was asked for.
	last  int64
	err   error
	wants bool

	mu  sync.Mutex
	own *watcher // after it left the group
}

// join watches from now on, together with others that do.
func (c *Client) join(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	key := groupKey{string(req.Key), string(req.End), req.PrevKV, req.NoPut, req.NoDelete, req.ProgressNotify}
	for {
		c.groups.mu.Lock()
		g := c.groups.by[key]
		if g == nil {
			g = &group{c: c, key: key, ready: make(chan struct{}), done: make(chan struct{}), members: map[*member]struct{}{}, changed: make(chan struct{})}
			c.groups.by[key] = g
			c.groups.mu.Unlock()
			return g.begin(ctx, req)
		}
		c.groups.mu.Unlock()
		select {
		case <-g.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if g.err != nil {
			continue // that of another caller, perhaps because it did not wait any longer
		}
		// "From now on" is after every write acknowledged so far.
		now, err := c.Revision(ctx)
		if err != nil {
			return nil, err
		}
		if m := g.add(req, now); m != nil {
			return m, nil
		}
	}
}

// begin opens the watch for its first member.
func (g *group) begin(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	g.up, g.err = g.c.follow(ctx, req)
	if g.err != nil {
		g.forget()
		close(g.ready)
		return nil, g.err
	}
	m := g.add(req, -1)
	close(g.ready)
	go g.run()
	return m, nil
}

// add makes a member that sees what comes after from, and after what the others have seen. It returns nil when the group
// has ended.
func (g *group) add(req kv.WatchRequest, from int64) *member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return nil
	}
	m := &member{c: g.c, req: req, g: g, from: from, queue: make(chan kv.WatchResponse, memberQueue), closed: make(chan struct{})}
	if from >= 0 {
		m.from = max(from, g.pos)
	}
	m.last = m.from
	g.members[m] = struct{}{}
	close(g.changed)
	g.changed = make(chan struct{})
	return m
}

// forget makes the next one with this key begin a group.
func (g *group) forget() {
	g.c.groups.mu.Lock()
	defer g.c.groups.mu.Unlock()
	if g.c.groups.by[g.key] == g {
		delete(g.c.groups.by, g.key)
	}
}

// run delivers until the watch ends, with the last member or by itself.
func (g *group) run() {
	defer close(g.done)
	for {
		resp, err := g.up.Next(context.Background()) // ends with the watch
		if err != nil {
			g.end(err)
			return
		}
		for {
			changed, slow, again := g.deliver(resp)
			if again && g.up.RequestProgress() != nil {
				break // the next Next says why
			}
			if slow == nil || !g.wait(slow, &resp, changed) {
				break
			}
		}
	}
}

// wait waits for a member that is alone and slow to take resp. It reports whether to try all again: somebody has joined.
func (g *group) wait(m *member, resp *kv.WatchResponse, changed <-chan struct{}) bool {
	select {
	case m.queue <- *resp:
		g.mu.Lock()
		defer g.mu.Unlock()
		m.delivered(resp)
	case <-changed:
		return true
	case <-m.closed:
	case <-g.c.ctx.Done():
	}
	return false
}

// deliver puts resp into the queues. It may return a member that is alone and whose queue is full, to which nothing is
// delivered, with a channel that is closed when it is not alone any more; again says that a notice of progress is to be asked for
// again: this one came too early for somebody.
func (g *group) deliver(resp kv.WatchResponse) (changed <-chan struct{}, slow *member, again bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pos = max(g.pos, resp.Revision)
	notice := len(resp.Events) == 0
	for m := range g.members {
		switch {
		case notice && resp.Revision < m.last:
			again = again || m.wants
			continue
		case notice && !m.wants && !g.key.notify:
			continue
		case !notice && resp.Revision <= m.last:
			continue // it began after this
		}
		select {
		case m.queue <- resp:
			m.delivered(&resp)
		default:
			if len(g.members) == 1 {
				return g.changed, m, again
			}
			delete(g.members, m)
			close(m.queue)
		}
	}
	return nil, nil, again
}

// delivered notes what m has in its queue. The group's lock is held.
func (m *member) delivered(resp *kv.WatchResponse) {
	m.last = max(m.last, resp.Revision)
	if len(resp.Events) == 0 {
		m.wants = false
	}
}

// end tells every member why.
func (g *group) end(err error) {
	g.forget()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for m := range g.members {
		m.err = err
		close(m.queue)
	}
	clear(g.members)
}

// leave takes a member out; with the last one the watch ends.
func (g *group) leave(m *member) {
	g.mu.Lock()
	_, in := g.members[m]
	delete(g.members, m)
	last := in && len(g.members) == 0
	if last {
		g.ended = true
	}
	g.mu.Unlock()
	if last {
		g.forget()
		g.up.Close()
		<-g.done
	}
}

// Next implements kv.Watcher.
func (m *member) Next(ctx context.Context) (kv.WatchResponse, error) {
	for {
		if own := m.alone(); own != nil {
			return own.Next(ctx)
		}
		select {
		case <-m.closed:
			return kv.WatchResponse{}, kv.ErrClosed
		default:
		}
		select {
		case resp, ok := <-m.queue:
			if !ok {
				if m.err != nil {
					return kv.WatchResponse{}, m.err
				}
				if err := m.goAlone(ctx); err != nil {
					return kv.WatchResponse{}, err
				}
				continue
			}
			if resp, ok = m.trim(resp); ok {
				return resp, nil
			}
		case <-m.closed:
			return kv.WatchResponse{}, kv.ErrClosed
		case <-ctx.Done():
			return kv.WatchResponse{}, ctx.Err()
		}
	}
}

// trim takes off the events from before the member began, and reports whether anything is left.
func (m *member) trim(resp kv.WatchResponse) (kv.WatchResponse, bool) {
	if len(resp.Events) == 0 {
		return resp, true
	}
	n := 0
	for n < len(resp.Events) && resp.Events[n].KV.ModRevision <= m.from {
		n++
	}
	resp.Events = resp.Events[n:]
	return resp, len(resp.Events) > 0
}

func (m *member) alone() *watcher {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.own
}

// goAlone goes on with a watch of its own.
func (m *member) goAlone(ctx context.Context) error {
	req := m.req
	req.StartRevision = m.last + 1
	own, err := m.c.follow(ctx, req)
	if errors.Is(err, kv.ErrCompacted) {
		return &kv.ExpiredError{Revision: m.last}
	}
	if err != nil {
		return err
	}
	m.g.mu.Lock()
	wants := m.wants
	m.g.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.closed: // while it was opened
		own.Close()
		return kv.ErrClosed
	default:
	}
	m.own = own
	if wants {
		return own.RequestProgress()
	}
	return nil
}

// RequestProgress implements kv.Watcher.
func (m *member) RequestProgress() error {
	if own := m.alone(); own != nil {
		return own.RequestProgress()
	}
	m.g.mu.Lock()
	m.wants = true
	m.g.mu.Unlock()
	return m.g.up.RequestProgress()
}

// Close implements kv.Watcher.
func (m *member) Close() {
	m.once.Do(func() {
		m.mu.Lock()
		close(m.closed)
		own := m.own
		m.mu.Unlock()
		if own != nil {
			own.Close()
		}
		m.g.leave(m)
	})
}
