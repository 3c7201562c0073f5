package raftnode

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/kv"
)

var _ kv.Batcher = (*Node)(nil)

// TxnBatch implements kv.Batcher: on the leader all go into the queue together.
func (n *Node) TxnBatch(ctx context.Context, calls []kv.TxnCall, sink kv.TxnSink) bool {
	if !n.isLeader() {
		return false
	}
	to := &batch{sink: sink, ctx: ctx}
	for i := range calls {
		if tracing(calls[i].Req.TraceParent) {
			to.trace(n.cfg.Clock.Now(), &calls[i])
		}
	}
	n.proposer.submit(ctx, calls, to)
	return true
}

// batch passes outcomes on.
type batch struct {
	sink kv.TxnSink
	ctx  context.Context
	// spans are those of the commands that are traced, by tag; nobody changes it once they are queued.
	spans map[uint64]span
}

type span struct {
	ctx  context.Context
	span trace.Span
	from time.Time
}

func (b *batch) trace(now time.Time, c *kv.TxnCall) {
	ctx, s := telemetry.Tracer("store").Start(kv.WithTraceParent(b.ctx, c.Req.TraceParent), "raft commit",
		trace.WithSpanKind(trace.SpanKindInternal), trace.WithTimestamp(now))
	if b.spans == nil {
		b.spans = map[uint64]span{}
	}
	b.spans[c.Tag] = span{ctx, s, now}
}

func (b *batch) complete(tag uint64, o outcome) {
	if s, ok := b.spans[tag]; ok {
		if o.err != nil {
			s.span.SetStatus(codes.Error, o.err.Error())
		} else {
			describe(s.ctx, s.span, s.from, &o)
		}
		s.span.End()
	}
	b.sink.TxnDone(tag, o.txn, o.err)
}

func (b *batch) flush() { b.sink.Flush() }

// Linearize implements kv.Batcher.
func (n *Node) Linearize(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return n.linearize(ctx)
}

// Scan implements kv.Batcher.
func (n *Node) Scan(ctx context.Context, req kv.RangeRequest, fn func(*kv.KeyValue) bool) (*kv.RangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !req.Serializable {
		if err := n.linearize(ctx); err != nil {
			return nil, err
		}
	}
	return n.fsm.hub.View().Scan(&req, fn)
}

// Linear implements kv.Batcher.
func (n *Node) Linear() bool {
	l := n.lead.Load()
	if l == nil || !l.sole.Load() || l.term != n.raft.CurrentTerm() || !n.isLeader() {
		return false
	}
	// A learner may show what is committed before it is applied here.
	index, err := n.committed()
	return err == nil && index <= n.fsm.applied.Load()
}

// Leads implements kv.Batcher.
func (n *Node) Leads() (bool, <-chan struct{}) {
	changed := n.changed.wait()
	return n.isLeader(), changed
}
