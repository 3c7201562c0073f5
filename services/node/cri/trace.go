package cri

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// tracer is asked for anew by each span: what it is follows from what the process set up after this package was loaded.
func tracer() trace.Tracer { return telemetry.Tracer("node") }

type attributesKey struct{}

// WithNames puts the names of the pod and the container that a call is about into ctx, for its span.
func WithNames(ctx context.Context, namespace, pod, container string) context.Context {
	attributes := []attribute.KeyValue{attribute.String("k8s.namespace.name", namespace), attribute.String("k8s.pod.name", pod)}
	if container != "" {
		attributes = append(attributes, attribute.String("k8s.container.name", container))
	}
	return context.WithValue(ctx, attributesKey{}, attributes)
}

// start begins the span of a call that changes something. Calls that no trace is behind get none: there are too many of them.
func start(ctx context.Context, call string, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ctx, func(error) {}
	}
	if named, ok := ctx.Value(attributesKey{}).([]attribute.KeyValue); ok {
		attributes = append(attributes, named...)
	}
	ctx, span := tracer().Start(ctx, "CRI "+call, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, Message(err))
		}
		span.End()
	}
}

func podAttributes(config *runtimeapi.PodSandboxConfig) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("k8s.namespace.name", config.GetMetadata().GetNamespace()),
		attribute.String("k8s.pod.name", config.GetMetadata().GetName()),
		attribute.String("k8s.pod.uid", config.GetMetadata().GetUid()),
	}
}

func containerID(id string) attribute.KeyValue { return attribute.String("container.id", id) }

// Span begins the span of a call that creates, starts or stops something, as Client's own calls have one: for runtimes in this process. about is the sandbox's
// configuration, or nil where only the id of what the call is for is known.
func Span(ctx context.Context, call string, about *runtimeapi.PodSandboxConfig, id string) (end func(error)) {
	var attributes []attribute.KeyValue
	if about != nil {
		attributes = podAttributes(about)
	}
	if id != "" {
		attributes = append(attributes, containerID(id))
	}
	_, end = start(ctx, call, attributes...)
	return end
}
