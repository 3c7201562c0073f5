package kv

import (
	"context"

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
