package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"

	prombridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.34.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options names the process.
type Options struct {
	// Service is service.name for what no service's Tracer names; OTEL_SERVICE_NAME overrides it.
	Service string
	// Version is service.version.
	Version string
	Logger  *slog.Logger
}

// state is what Setup or InstallMemory switched on. Several services share a process under `up`: each has a tracer provider
// with its own service.name, all on one span processor.
type state struct {
	mu        sync.Mutex
	enabled   bool
	processor sdktrace.SpanProcessor
	version   string
	providers map[string]trace.TracerProvider
}

var global = &state{}

// Setup reads the OTEL_* variables and switches on what they ask for. The returned function exports what is still
// held and ends it; call it last, with a deadline. A collector that is away is no error: export retries by itself.
func Setup(ctx context.Context, o Options) (shutdown func(context.Context) error, err error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	otel.SetTextMapPropagator(propagator())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Warn("telemetry", "error", err) }))
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return func(context.Context) error { return nil }, nil
	}
	var ends []func(context.Context) error
	shutdown = func(ctx context.Context) error {
		var all error
		for i := len(ends) - 1; i >= 0; i-- {
			all = errors.Join(all, ends[i](ctx))
		}
		return all
	}
	if wanted("TRACES") {
		exporter, err := otlptracegrpc.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("telemetry: cannot export traces to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
		}
		ends = append(ends, install(sdktrace.NewBatchSpanProcessor(exporter), o.Version))
		otel.SetTracerProvider(Provider(o.Service))
	}
	if wanted("METRICS") {
		exporter, err := otlpmetricgrpc.New(ctx)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("telemetry: cannot export metrics to the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT: %w", err), shutdown(ctx))
		}
		reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(
			prombridge.NewMetricProducer(prombridge.WithGatherer(Gatherer()))))
		meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resourceOf(o.Service, o.Version)))
		otel.SetMeterProvider(meters)
		ends = append(ends, meters.Shutdown)
	}
	return shutdown, nil
}

// wanted says whether a signal ("TRACES", "METRICS") has somewhere to go.
func wanted(signal string) bool {
	if e := os.Getenv("OTEL_" + signal + "_EXPORTER"); e != "" && e != "otlp" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

func propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// install makes p receive every span of the process; the returned function takes it out again.
func install(p sdktrace.SpanProcessor, version string) func(context.Context) error {
	global.mu.Lock()
	defer global.mu.Unlock()
	global.enabled, global.processor, global.version = true, p, version
	global.providers = map[string]trace.TracerProvider{}
	return func(ctx context.Context) error {
		global.mu.Lock()
		if global.processor == p {
			global.enabled, global.processor, global.providers = false, nil, nil
		}
		global.mu.Unlock()
		return p.Shutdown(ctx)
	}
}

// Enabled says whether spans are recorded.
func Enabled() bool {
	global.mu.Lock()
	defer global.mu.Unlock()
	return global.enabled
}

// Provider makes the tracers of one service; its spans carry the service's name. Ask for it when the service starts, after
// Setup.
func Provider(service string) trace.TracerProvider {
	global.mu.Lock()
	defer global.mu.Unlock()
	if !global.enabled {
		return noop.NewTracerProvider()
	}
	if p, ok := global.providers[service]; ok {
		return p
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(global.processor), sdktrace.WithResource(resourceOf(service, global.version)))
	global.providers[service] = p
	return p
}

// Tracer is the tracer of one service ("gateway", "scheduler").
func Tracer(service string) trace.Tracer {
	return Provider(service).Tracer("github.com/orrery-io/orrery/services/" + service)
}

func resourceOf(service, version string) *resource.Resource {
	own := resource.NewSchemaless(semconv.ServiceName(service), semconv.ServiceNamespace("orrery"), semconv.ServiceVersion(version))
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win over ours; their errors go to the handler that Setup installed.
	env, err := resource.New(context.Background(), resource.WithFromEnv(), resource.WithTelemetrySDK(), resource.WithHost())
	if err != nil {
		otel.Handle(err)
	}
	merged, err := resource.Merge(own, env)
	if err != nil {
		otel.Handle(err)
		return own
	}
	return merged
}
