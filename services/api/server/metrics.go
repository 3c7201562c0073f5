package server

import (
	"context"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// metrics counts what the server does.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	watches  prometheus.Gauge
}

func newMetrics() *metrics {
	return &metrics{
		requests: telemetry.Register(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orrery_api_requests_total", Help: "Requests by gRPC service, method and code.",
		}, []string{"service", "method", "code"})),
		seconds: telemetry.Register(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orrery_api_request_duration_seconds", Help: "Time to answer unary requests, by gRPC service and method.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"service", "method"})),
		watches: telemetry.Register(prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "orrery_api_watches", Help: "Open watches.",
		})),
	}
}

func (m *metrics) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	start := time.Now()
	resp, err := handler(ctx, req)
	service, method := splitMethod(info.FullMethod)
	m.seconds.WithLabelValues(service, method).Observe(time.Since(start).Seconds())
	m.requests.WithLabelValues(service, method, status.Code(err).String()).Inc()
	return resp, err
}

func (m *metrics) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	err := handler(srv, stream)
	service, method := splitMethod(info.FullMethod)
	m.requests.WithLabelValues(service, method, status.Code(err).String()).Inc()
	return err
}

func splitMethod(full string) (service, method string) {
	service, method, _ = strings.Cut(strings.TrimPrefix(full, "/"), "/")
	return service, method
}
