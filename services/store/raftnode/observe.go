package raftnode

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Batch describes a log entry that this member proposed and applied.
type Batch struct {
	Commands, Bytes int
	// Queued is how long its first command waited for an entry in flight; Commit is the time from the hand-over to Raft
	// until a majority had the entry on disk and its turn came; Apply is that of the state machine.
	Queued, Commit, Apply time.Duration
}

// OnBatch sets a function that is told of each log entry that this member proposes. It must not block.
func (n *Node) OnBatch(fn func(Batch)) { n.batches.Store(&fn) }

// timing is when an entry came to which stage.
type timing struct {
	queued, proposed, applying, applied time.Time
	// written is when it was on this member's disk, zero when that is not known.
	written time.Time
}

// tracing reports whether a command with this trace parent is worth a span: a W3C trace parent ends with its flags, of which
// the lowest bit says "sampled".
func tracing(traceParent string) bool {
	if len(traceParent) != 55 || !telemetry.Enabled() {
		return false
	}
	c := traceParent[54]
	return c == '1' || c == '3' || c == '5' || c == '7' || c == '9' || c == 'b' || c == 'd' || c == 'f'
}

// describe fills in the span of a command that came at from and was applied, and adds the stages of its entry as children.
func describe(ctx context.Context, span trace.Span, from time.Time, o *outcome) {
	if !span.IsRecording() {
		return
	}
	if o.txn != nil {
		span.SetAttributes(attribute.Int64("orrery.store.revision", o.txn.Revision))
	}
	t := o.timing
	if t == nil { // another member's
		return
	}
	span.SetAttributes(attribute.Int("orrery.store.batch", o.batch), attribute.Int64("orrery.store.log_index", int64(o.index)))
	tracer := telemetry.Tracer("store")
	stage := func(name string, from, to time.Time) {
		_, s := tracer.Start(ctx, name, trace.WithTimestamp(from))
		s.End(trace.WithTimestamp(to))
	}
	if from.Before(t.queued) {
		from = t.queued // it waited to get into the queue
	}
	stage("raft propose", from, t.proposed)
	if t.written.IsZero() {
		t.written = t.proposed
	} else {
		stage("raft append", t.proposed, t.written)
	}
	stage("raft replicate", t.written, t.applying)
	stage("raft apply", t.applying, t.applied)
}
