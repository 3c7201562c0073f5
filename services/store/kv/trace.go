package kv

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/trace"
)

// TraceParent is the W3C traceparent of the span in ctx, empty when there is none.
func TraceParent(ctx context.Context) string {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() {
		return ""
	}
	const dash = '-'
	b := make([]byte, 0, 55)
	b = append(b, "00-"...)
	b = append(b, sc.TraceID().String()...)
	b = append(b, dash)
	b = append(b, sc.SpanID().String()...)
	b = append(b, dash)
	b = append(b, sc.TraceFlags().String()...)
	return string(b)
}

// WithTraceParent makes the span that a W3C traceparent names the parent of what is started in the returned context. A
// traceparent that is none changes nothing.
func WithTraceParent(ctx context.Context, parent string) context.Context {
	if len(parent) != 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' {
		return ctx
	}
	id, err := trace.TraceIDFromHex(parent[3:35])
	if err != nil {
		return ctx
	}
	span, err := trace.SpanIDFromHex(parent[36:52])
	if err != nil {
		return ctx
	}
	flags, err := hex.DecodeString(parent[53:])
	if err != nil {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags[0]), Remote: true,
	}))
}
