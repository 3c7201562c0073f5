package lease

import (
	"container/heap"
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
)

// retryAfter is how long an expired lease waits when its revocation could not be proposed.
const retryAfter = time.Second

// Lessor holds the deadlines. It is idle until Promote.
type Lessor struct {
	clock clock.Clock
	wake  chan struct{}

	mu      sync.Mutex
	leading bool
	leases  map[int64]*entry
	queue   queue
}

// entry is one lease. It is in the queue under due, which may be earlier than its deadline: renewing moves the deadline
// alone, and the entry is put back when it comes up.
type entry struct {
	id, ttl       int64
	deadline, due time.Time
	// revoking: its revocation is on the way, it cannot be renewed any more.
	revoking bool
	gone     bool
}

// New returns an idle lessor.
func New(c clock.Clock) *Lessor {
	return &Lessor{clock: c, wake: make(chan struct{}, 1), leases: map[int64]*entry{}}
}

// Promote begins to count, from now, for leases given as id > time to live in seconds.
func (l *Lessor) Promote(ttls map[int64]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading, l.leases, l.queue = true, map[int64]*entry{}, nil
	for id, ttl := range ttls {
		l.add(id, ttl)
	}
	l.signal()
}

// Demote stops counting.
func (l *Lessor) Demote() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leading, l.leases, l.queue = false, map[int64]*entry{}, nil
}

// Granted tells of a new lease.
func (l *Lessor) Granted(id, ttl int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leading {
		l.add(id, ttl)
		l.signal()
	}
}

// Revoked tells that a lease is gone.
func (l *Lessor) Revoked(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.leases[id]; e != nil {
		e.gone = true
		delete(l.leases, id)
	}
}

// KeepAlive gives a lease its whole time again and returns that in seconds.
func (l *Lessor) KeepAlive(id int64) (ttl int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leading {
		return 0, kv.ErrNoLeader
	}
	e := l.leases[id]
	if e == nil || e.revoking {
		return 0, kv.ErrLeaseNotFound
	}
	e.deadline = l.clock.Now().Add(time.Duration(e.ttl) * time.Second)
	return e.ttl, nil
}

// TimeToLive tells how long a lease was granted for and how long it still lives, in whole seconds, rounded up: a lease
// that has any time left never shows none.
func (l *Lessor) TimeToLive(id int64) (granted, remaining int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.leading {
		return 0, 0, kv.ErrNoLeader
	}
	e := l.leases[id]
	if e == nil {
		return 0, 0, kv.ErrLeaseNotFound
	}
	left := e.deadline.Sub(l.clock.Now())
	return e.ttl, max(0, int64((left+time.Second-1)/time.Second)), nil
}

// Run calls revoke for each lease whose time is up, until ctx ends. An error of revoke is retried later.
func (l *Lessor) Run(ctx context.Context, revoke func(context.Context, int64) error) {
	for {
		now := l.clock.Now()
		expired, next := l.expired(now)
		for _, id := range expired {
			if err := revoke(ctx, id); err != nil {
				l.retry(id)
			}
		}
		if len(expired) > 0 {
			continue
		}
		// A new timer each time: one that is set again may hold a tick of its former life.
		timer := l.clock.NewTimer(next)
		if l.clock.Since(now) > time.Millisecond {
			timer.Stop()
			continue // the clock moved on while the timer was set: it would fire late
		}
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-l.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// expired marks and returns the leases whose time is up, or tells how long the next one has.
func (l *Lessor) expired(now time.Time) (ids []int64, next time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) > 0 {
		e := l.queue[0]
		switch {
		case e.gone:
			heap.Pop(&l.queue)
		case e.due.After(now):
			if len(ids) > 0 {
				return ids, 0
			}
			return nil, e.due.Sub(now)
		case e.deadline.After(now):
			e.due = e.deadline
			heap.Fix(&l.queue, 0)
		default:
			heap.Pop(&l.queue)
			e.revoking = true
			ids = append(ids, e.id)
		}
	}
	return ids, time.Hour
}

func (l *Lessor) retry(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.leases[id]; e != nil && e.revoking {
		e.due = l.clock.Now().Add(retryAfter)
		heap.Push(&l.queue, e)
	}
}

func (l *Lessor) add(id, ttl int64) {
	d := l.clock.Now().Add(time.Duration(ttl) * time.Second)
	e := &entry{id: id, ttl: ttl, deadline: d, due: d}
	l.leases[id] = e
	heap.Push(&l.queue, e)
}

func (l *Lessor) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// queue is a heap by due.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due.Before(q[j].due) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*entry)) }
func (q *queue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}
