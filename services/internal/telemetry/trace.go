package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// TraceParent is the trace context of ctx as a W3C traceparent (https://www.w3.org/TR/trace-context/), "" without one.
func TraceParent(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ""
	}
	carrier := oneHeader{}
	propagation.TraceContext{}.Inject(ctx, &carrier)
	return carrier.traceparent
}

// ContextWithTraceParent makes a remote trace context the parent of the spans begun with the result. A malformed or empty
// traceparent changes nothing.
func ContextWithTraceParent(ctx context.Context, traceparent string) context.Context {
	sc := spanContext(traceparent)
	if !sc.IsValid() {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, sc)
}

// StartLinked begins a span for work that other spans caused, given as traceparents: the first one is its parent, so the work
// belongs to that trace; the others, coalesced into the same work, are linked. Without a cause the span is the root of a
// new trace, whatever ctx holds.
func StartLinked(ctx context.Context, tracer trace.Tracer, name string, causes []string, opts ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanContext{}
	var links []trace.Link
	for _, c := range causes {
		sc := spanContext(c)
		if !sc.IsValid() {
			continue
		}
		if !parent.IsValid() {
			parent = sc
			continue
		}
		if sc.SpanID() != parent.SpanID() {
			links = append(links, trace.Link{SpanContext: sc})
		}
	}
	if parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	} else {
		opts = append(opts, trace.WithNewRoot())
	}
	if len(links) > 0 {
		opts = append(opts, trace.WithLinks(links...))
	}
	return tracer.Start(ctx, name, opts...)
}

// End ends a span, marking it failed when err is not nil.
func End(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		span.RecordError(err)
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}

func spanContext(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), &oneHeader{traceparent})
	return trace.SpanContextFromContext(ctx)
}

// oneHeader carries the traceparent alone.
type oneHeader struct{ traceparent string }

func (h *oneHeader) Get(key string) string {
	if key == "traceparent" {
		return h.traceparent
	}
	return ""
}

func (h *oneHeader) Set(key, value string) {
	if key == "traceparent" {
		h.traceparent = value
	}
}

func (h *oneHeader) Keys() []string { return []string{"traceparent"} }
