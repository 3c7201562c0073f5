// Package memory is the store without Raft and without a disk: the state machine and its watches behind kv.KV, for tests
// and tools that need a real store and no durability. It passes the same conformance suite as a cluster does.
package memory

import (
	"bytes"
	"context"
	"math/rand/v2"
	"sync"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/lease"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/watch"
)

// Options of a store; the zero value works.
type Options struct {
	// Clock counts the time of leases.
	Clock clock.Clock
	// QuotaBytes 0 is no limit.
	QuotaBytes int64
}

// KV is a store in memory. Close it to end its goroutine and its watches.
type KV struct {
	opts   Options
	hub    *watch.Hub
	lessor *lease.Lessor
	stop   context.CancelFunc
	done   sync.WaitGroup

	mu    sync.Mutex // the writer's: state
	state *mvcc.State
}

var _ kv.KV = (*KV)(nil)

// New returns an empty store.
func New(opts Options) *KV {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	ctx, stop := context.WithCancel(context.Background())
	s := mvcc.New()
	m := &KV{opts: opts, state: s, hub: watch.NewHub(s.View()), lessor: lease.New(opts.Clock), stop: stop}
	m.lessor.Promote(nil)
	m.done.Go(func() { m.lessor.Run(ctx, m.LeaseRevoke) })
	return m
}

// Close ends all watches and the expiry of leases.
func (m *KV) Close() {
	m.stop()
	m.done.Wait()
	m.hub.Close()
}

// Tick sends progress notices; see watch.Hub.
func (m *KV) Tick() { m.hub.Tick() }

// apply runs a change and shows its outcome to readers and watchers.
func (m *KV) apply(fn func(*mvcc.State) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	err := fn(m.state)
	m.hub.Commit(m.state.View())
	return err
}

// Range implements kv.KV.
func (m *KV) Range(ctx context.Context, req kv.RangeRequest) (*kv.RangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.hub.View().Range(&req)
}

// Txn implements kv.KV.
func (m *KV) Txn(ctx context.Context, req kv.TxnRequest) (resp *kv.TxnResponse, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := mvcc.Validate(&req); err != nil {
		return nil, err
	}
	if req.TraceParent == "" {
		req.TraceParent = kv.TraceParent(ctx)
	}
	req.Then, req.Else = cloneOps(req.Then), cloneOps(req.Else)
	err = m.apply(func(s *mvcc.State) error {
		resp, err = s.Txn(&req, m.opts.QuotaBytes)
		return err
	})
	return resp, err
}

// cloneOps copies what the state keeps, so that the caller may use its buffers again.
func cloneOps(ops []kv.Op) []kv.Op {
	out := make([]kv.Op, len(ops))
	for i, op := range ops {
		if op.Put != nil {
			p := *op.Put
			p.Key, p.Value = bytes.Clone(p.Key), bytes.Clone(p.Value)
			op.Put = &p
		}
		out[i] = op
	}
	return out
}

// Watch implements kv.KV.
func (m *KV) Watch(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req.Key, req.End = bytes.Clone(req.Key), bytes.Clone(req.End)
	w, err := m.hub.Watch(req)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Compact implements kv.KV.
func (m *KV) Compact(_ context.Context, revision int64) error {
	return m.apply(func(s *mvcc.State) error { return s.Compact(revision) })
}

// Revision implements kv.KV.
func (m *KV) Revision(ctx context.Context) (int64, error) {
	return m.hub.View().Revision(), ctx.Err()
}

// LeaseGrant implements kv.KV.
func (m *KV) LeaseGrant(_ context.Context, id, ttl int64) (kv.Lease, error) {
	if err := mvcc.ValidateTTL(ttl); err != nil {
		return kv.Lease{}, err
	}
	if id == 0 {
		id = rand.Int64N(1<<62) + 1
	}
	if err := m.apply(func(s *mvcc.State) error { return s.GrantLease(id, ttl) }); err != nil {
		return kv.Lease{}, err
	}
	m.lessor.Granted(id, ttl)
	return kv.Lease{ID: id, TTL: ttl, GrantedTTL: ttl}, nil
}

// LeaseRevoke implements kv.KV.
func (m *KV) LeaseRevoke(_ context.Context, id int64) error {
	defer m.lessor.Revoked(id)
	return m.apply(func(s *mvcc.State) error { return s.RevokeLease(id) })
}

// LeaseKeepAlive implements kv.KV.
func (m *KV) LeaseKeepAlive(_ context.Context, id int64) (kv.Lease, error) {
	ttl, err := m.lessor.KeepAlive(id)
	if err != nil {
		return kv.Lease{}, err
	}
	return kv.Lease{ID: id, TTL: ttl, GrantedTTL: ttl}, nil
}
