package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

const cause = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceParentRoundTrip(t *testing.T) {
	ctx := ContextWithTraceParent(context.Background(), cause)
	if got := TraceParent(ctx); got != cause {
		t.Errorf("got %q", got)
	}
	if got := TraceParent(ContextWithTraceParent(ctx, "nonsense")); got != cause {
		t.Errorf("a malformed traceparent replaced the good one: %q", got)
	}
	if got := TraceParent(context.Background()); got != "" {
		t.Errorf("got %q without a trace", got)
	}
}

func TestStartLinked(t *testing.T) {
	spans, restore := InstallMemory()
	defer restore()
	tracer := Tracer("controllers")
	const other = "00-11111111111111111111111111111111-2222222222222222-01"
	ctx, span := StartLinked(context.Background(), tracer, "reconcile", []string{"", cause, other, "bad"})
	if !strings.HasPrefix(TraceParent(ctx), cause[:36]) {
		t.Errorf("span is not in its cause's trace: %s", TraceParent(ctx))
	}
	span.End()
	_, root := StartLinked(ctx, tracer, "resync", nil)
	root.End()
	got := spans.GetSpans()
	if len(got) != 2 {
		t.Fatalf("%d spans", len(got))
	}
	if got[0].Parent.SpanID().String() != "b7ad6b7169203331" || len(got[0].Links) != 1 ||
		got[0].Links[0].SpanContext.TraceID().String() != "11111111111111111111111111111111" {
		t.Errorf("parent %v, links %v", got[0].Parent, got[0].Links)
	}
	if got[1].Parent.IsValid() || got[1].SpanContext.TraceID() == got[0].SpanContext.TraceID() {
		t.Error("work without a cause joined a trace")
	}
	if name, _ := got[0].Resource.Set().Value("service.name"); name.AsString() != "controllers" {
		t.Errorf("service.name is %q", name.AsString())
	}
}

func TestLogHandler(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(LogHandler(slog.NewJSONHandler(&out, nil))).With("a", 1)
	log.InfoContext(ContextWithTraceParent(context.Background(), cause), "hello")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["trace_id"] != "0af7651916cd43dd8448eb211c80319c" || line["span_id"] != "b7ad6b7169203331" {
		t.Errorf("%v", line)
	}
}

func TestRegisterTwiceShares(t *testing.T) {
	make := func() *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "orrery_test_total", Help: "Test."}, []string{"k"})
	}
	Register(make()).WithLabelValues("v").Inc()
	Register(make()).WithLabelValues("v").Inc()
	w := httptest.NewRecorder()
	MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if !strings.Contains(w.Body.String(), `orrery_test_total{k="v"} 2`) {
		t.Errorf("%s", w.Body)
	}
}

type sink struct {
	collector.UnimplementedTraceServiceServer
	names chan string
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	for _, rs := range r.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				s.names <- sp.Name
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestSetupExportsToTheEndpointAndOnlyThen(t *testing.T) {
	shutdown, err := Setup(context.Background(), Options{Service: "orrery"})
	if err != nil {
		t.Fatal(err)
	}
	if Enabled() || ServerOptions("api") != nil || DialOptions("api") != nil {
		t.Error("recording without an endpoint")
	}
	if err := shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{names: make(chan string, 10)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://"+l.Addr().String())
	if shutdown, err = Setup(context.Background(), Options{Service: "orrery"}); err != nil {
		t.Fatal(err)
	}
	_, span := Tracer("gateway").Start(context.Background(), "work")
	span.End()
	if err := shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if got := <-s.names; got != "work" {
		t.Errorf("exported %q", got)
	}
	if Enabled() {
		t.Error("recording after shutdown")
	}
}
