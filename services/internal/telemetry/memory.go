package telemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// InstallMemory records every span of the process in memory, for tests; call it before the services start. restore switches recording
// off again.
func InstallMemory() (spans *tracetest.InMemoryExporter, restore func()) {
	spans = tracetest.NewInMemoryExporter()
	otel.SetTextMapPropagator(propagator())
	end := install(sdktrace.NewSimpleSpanProcessor(spans), "")
	return spans, func() {
		// The in-memory exporter has nothing that could fail to flush.
		_ = end(context.Background())
	}
}
