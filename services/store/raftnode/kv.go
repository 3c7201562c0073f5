package raftnode

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

var _ kv.KV = (*Node)(nil)

// compactStep is how many revisions one compaction command covers, so that none of them stops the store for long.
const compactStep = 5000

// Range implements kv.KV.
func (n *Node) Range(ctx context.Context, req kv.RangeRequest) (*kv.RangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !req.Serializable {
		if err := n.linearize(ctx); err != nil {
			return nil, err
		}
	}
	return n.fsm.hub.View().Range(&req)
}

// Txn implements kv.KV.
func (n *Node) Txn(ctx context.Context, req kv.TxnRequest) (*kv.TxnResponse, error) {
	if req.TraceParent == "" {
		req.TraceParent = kv.TraceParent(ctx)
	}
	if err := mvcc.Validate(&req); err != nil {
		return nil, err
	}
	if mvcc.ReadOnly(&req) {
		return n.readTxn(ctx, &req)
	}
	if !tracing(req.TraceParent) {
		out, err := n.doTxn(ctx, &req)
		return out.txn, err
	}
	from := n.cfg.Clock.Now()
	ctx, span := telemetry.Tracer("store").Start(ctx, "raft commit", trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(from))
	defer span.End()
	out, err := n.doTxn(ctx, &req)
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		return nil, err
	}
	describe(ctx, span, from, &out)
	return out.txn, nil
}

// readTxn runs a transaction that only reads, without the log.
func (n *Node) readTxn(ctx context.Context, req *kv.TxnRequest) (*kv.TxnResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := n.linearize(ctx); err != nil {
		return nil, err
	}
	return n.fsm.hub.View().Txn(req)
}

// Watch implements kv.KV.
func (n *Node) Watch(ctx context.Context, req kv.WatchRequest) (kv.Watcher, error) {
	// "From now on" is after every write acknowledged so far, whichever member acknowledged it.
	if req.StartRevision == 0 {
		if err := n.linearize(ctx); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	req.Key, req.End = bytes.Clone(req.Key), bytes.Clone(req.End)
	w, err := n.fsm.hub.Watch(req)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Compact implements kv.KV. Large steps are made of small ones.
func (n *Node) Compact(ctx context.Context, revision int64) error {
	if err := n.linearize(ctx); err != nil {
		return err
	}
	view := n.fsm.hub.View()
	if revision > view.Revision() {
		return kv.ErrFutureRevision
	}
	for at := view.CompactRevision(); ; {
		at = min(at+compactStep, revision)
		_, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_Compact{Compact: &storev1.CompactRequest{Revision: at}}})
		if at == revision {
			return err
		}
		if err != nil && !errors.Is(err, kv.ErrCompacted) { // somebody else may have been there already
			return err
		}
	}
}

// Revision implements kv.KV.
func (n *Node) Revision(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := n.linearize(ctx); err != nil {
		return 0, err
	}
	return n.fsm.hub.View().Revision(), nil
}

// LeaseGrant implements kv.KV.
func (n *Node) LeaseGrant(ctx context.Context, id, ttl int64) (kv.Lease, error) {
	if err := mvcc.ValidateTTL(ttl); err != nil {
		return kv.Lease{}, err
	}
	for chosen := id; ; {
		if id == 0 {
			chosen = rand.Int64N(1<<62) + 1
		}
		_, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_LeaseGrant{
			LeaseGrant: &storev1.LeaseGrantRequest{Id: chosen, TtlSeconds: ttl}}})
		if id == 0 && errors.Is(err, kv.ErrLeaseExists) {
			continue
		}
		if err != nil {
			return kv.Lease{}, err
		}
		return kv.Lease{ID: chosen, TTL: ttl, GrantedTTL: ttl}, nil
	}
}

// LeaseRevoke implements kv.KV.
func (n *Node) LeaseRevoke(ctx context.Context, id int64) error {
	_, err := n.do(ctx, &storev1.Command{Command: &storev1.Command_LeaseRevoke{LeaseRevoke: &storev1.LeaseRevokeRequest{Id: id}}})
	return err
}

// LeaseKeepAlive implements kv.KV.
func (n *Node) LeaseKeepAlive(ctx context.Context, id int64) (kv.Lease, error) {
	var ttl int64
	err := n.retry(ctx, func(ctx context.Context) (err error) {
		if n.isLeader() {
			ttl, err = n.renew(ctx, id)
			return err
		}
		return n.askLeader(ctx, kv.ErrNoLeader, func(ctx context.Context, leader storev1.PeerServiceClient) error {
			resp, err := leader.KeepAlive(ctx, &storev1.KeepAliveRequest{Id: id})
			ttl = resp.GetGrantedTtlSeconds()
			return err
		})
	})
	if err != nil {
		return kv.Lease{}, err
	}
	return kv.Lease{ID: id, TTL: ttl, GrantedTTL: ttl}, nil
}
