package gateway

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

type metrics struct {
	clock    clock.PassiveClock
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	running  *prometheus.GaugeVec
	bytes    *prometheus.CounterVec
}

func newMetrics(c clock.PassiveClock) *metrics {
	return &metrics{
		clock: c,
		requests: telemetry.Register(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orrery_gateway_requests_total", Help: "Requests answered, by verb, resource and status code.",
		}, []string{"verb", "resource", "code"})),
		duration: telemetry.Register(prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "orrery_gateway_request_duration_seconds", Help: "Time from a request's headers to the end of its answer; long-running requests are left out.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"verb"})),
		running: telemetry.Register(prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "orrery_gateway_requests_running", Help: "Requests being served; long ones are watches, followed logs and upgrades.",
		}, []string{"kind"})),
		bytes: telemetry.Register(prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "orrery_gateway_response_bytes_total", Help: "Bytes of answers, before compression.",
		}, []string{"verb"})),
	}
}

// verbs are the label values for what clients can make up freely.
var verbs = map[string]bool{"get": true, "list": true, "watch": true, "create": true, "update": true, "patch": true,
	"delete": true, "deletecollection": true, "connect": true}

// begin counts a running request; the returned function counts its end.
func (m *metrics) begin(ex *exchange) func(code int) {
	kind := "short"
	if ex.longRunning {
		kind = "long"
	}
	verb := ex.info.Verb
	if ex.info.Connects() {
		verb = "connect"
	}
	if !verbs[verb] {
		verb = "other"
	}
	running := m.running.WithLabelValues(kind)
	running.Inc()
	begun := m.clock.Now()
	return func(code int) {
		running.Dec()
		resource := ""
		if code < 400 {
			// Only what exists becomes a label: else any client could make endless ones.
			resource = ex.info.Resource
		}
		m.requests.WithLabelValues(verb, resource, strconv.Itoa(code)).Inc()
		m.bytes.WithLabelValues(verb).Add(float64(ex.response.bytes))
		if !ex.longRunning {
			m.duration.WithLabelValues(verb).Observe(m.clock.Since(begun).Seconds())
		}
	}
}
