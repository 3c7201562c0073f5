package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// healthTimeout is how long the api may take to say that it serves.
const healthTimeout = 2 * time.Second

// check is one named condition of a health endpoint.
type check struct {
	name string
	run  func(context.Context) error
}

// health serves /livez (the process answers), /readyz and /healthz (it can serve requests), each with ?verbose, ?exclude= and
// its checks one by one below it, as in Kubernetes; and /metrics.
type health struct {
	endpoints map[string][]check
	metrics   http.Handler
}

func newHealth(api grpc.ClientConnInterface, draining func() bool) *health {
	ping := check{"ping", func(context.Context) error { return nil }}
	serving := check{"api", func(ctx context.Context) error { return apiServes(ctx, api) }}
	shutdown := check{"shutdown", func(context.Context) error {
		if draining() {
			return errors.New("process is shutting down")
		}
		return nil
	}}
	return &health{
		endpoints: map[string][]check{
			"/livez":   {ping},
			"/healthz": {ping, serving},
			"/readyz":  {ping, serving, shutdown},
		},
		metrics: telemetry.MetricsHandler(),
	}
}

// apiServes asks the api's standard health service.
func apiServes(ctx context.Context, conn grpc.ClientConnInterface) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		return fmt.Errorf("the api does not answer: %s", status.Convert(err).Message())
	}
	if resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("the api says %s", resp.GetStatus())
	}
	return nil
}

// serve answers r if its path is one of health's.
func (h *health) serve(w http.ResponseWriter, r *http.Request) bool {
	path := r.URL.Path
	if path == "/metrics" {
		h.serveMetrics(w, r)
		return true
	}
	endpoint, single := strings.TrimSuffix(path, "/"), ""
	if i := strings.IndexByte(path[min(1, len(path)):], '/'); i >= 0 {
		endpoint, single = path[:i+1], strings.TrimSuffix(path[i+2:], "/")
	}
	checks, ok := h.endpoints[endpoint]
	if !ok {
		return false
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		writeStatus(w, r, &routingError(http.StatusMethodNotAllowed).ErrStatus)
		return true
	}
	if single != "" {
		checks = only(checks, single)
		if checks == nil {
			writeStatus(w, r, &routingError(http.StatusNotFound).ErrStatus)
			return true
		}
	}
	h.run(w, r, strings.TrimPrefix(endpoint, "/"), checks)
	return true
}

func only(checks []check, name string) []check {
	for _, c := range checks {
		if c.name == name {
			return []check{c}
		}
	}
	return nil
}

func (h *health) run(w http.ResponseWriter, r *http.Request, name string, checks []check) {
	query := r.URL.Query()
	excluded := map[string]bool{}
	for _, e := range query["exclude"] {
		excluded[e] = true
	}
	var out strings.Builder
	failed := false
	for _, c := range checks {
		if excluded[c.name] {
			fmt.Fprintf(&out, "[+]%s excluded: ok\n", c.name)
			continue
		}
		if err := c.run(r.Context()); err != nil {
			failed = true
			fmt.Fprintf(&out, "[-]%s failed: %v\n", c.name, err)
			continue
		}
		fmt.Fprintf(&out, "[+]%s ok\n", c.name)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-cache, private")
	_, verbose := query["verbose"]
	switch {
	case failed:
		w.WriteHeader(http.StatusInternalServerError)
		fmt.Fprintf(&out, "%s check failed\n", name)
	case verbose:
		fmt.Fprintf(&out, "%s check passed\n", name)
	default:
		out.Reset()
		out.WriteString("ok")
	}
	// A prober that left needs no answer.
	_, _ = w.Write([]byte(out.String()))
}

// serveMetrics answers clients with a certificate; tokens are judged by the api, which is not asked here.
func (h *health) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		s := statusOf(status.Error(codes.Unauthenticated, "metrics are for clients with a certificate of this cluster"), nil)
		writeStatus(w, r, s)
		return
	}
	h.metrics.ServeHTTP(w, r)
}
