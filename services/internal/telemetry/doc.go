// Package telemetry gives every service its traces, metrics and logs.
//
// The one idea: a change is one trace, however many processes carry it. A request's trace context travels in gRPC
// metadata, is stored with the revision that the request wrote, comes back on the watch event, and becomes the parent of the reconcile
// span; TraceParent and ContextWithTraceParent are the two ends of that, StartLinked begins work that has several causes.
// Work that nothing caused (a resync, a heartbeat) begins with StartLinked and no cause, and so has a trace of its own.
//
// Export follows the standard OTEL_* variables: with OTEL_EXPORTER_OTLP_ENDPOINT set, spans and metrics go there over OTLP/gRPC.
// Without it nothing is recorded: spans are no-ops, and gRPC gets no instrumentation at all.
//
// setup.go switches it on, trace.go has the trace helpers, grpc.go the options for servers and clients, metrics.go the Prometheus registry,
// log.go the log handler, memory.go the exporter for tests.
package telemetry
