package telemetry

import (
	"strings"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
)

// ServerOptions makes a gRPC server of a service continue the trace of each call; none while telemetry is off.
func ServerOptions(service string) []grpc.ServerOption {
	if !Enabled() {
		return nil
	}
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(options(service)...))}
}

// DialOptions makes a gRPC client of a service send its trace context along; none while telemetry is off.
func DialOptions(service string) []grpc.DialOption {
	if !Enabled() {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(options(service)...))}
}

func options(service string) []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(Provider(service)),
		otelgrpc.WithPropagators(propagator()),
		otelgrpc.WithFilter(func(info *stats.RPCTagInfo) bool {
			// A pipeline lives as long as its client; the calls on it have spans of their own.
			return !strings.HasPrefix(info.FullMethodName, "/grpc.health.") && !strings.HasPrefix(info.FullMethodName, "/grpc.reflection.") &&
				!strings.HasSuffix(info.FullMethodName, "/Pipeline")
		}),
	}
}
