package telemetry

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var registry = newRegistry()

func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Register adds a collector to the process's registry and returns it, or the equal one that is already there: services
// that are started twice in a process share their metrics. It panics for two different metrics of one name, which is a
// mistake in the program.
func Register[C prometheus.Collector](c C) C {
	err := registry.Register(c)
	if err == nil {
		return c
	}
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if old, ok := already.ExistingCollector.(C); ok {
			return old
		}
	}
	panic("telemetry: " + err.Error())
}

// Registerer takes metrics of the process, for libraries that register their own.
func Registerer() prometheus.Registerer { return registry }

// Gatherer collects all metrics of the process.
func Gatherer() prometheus.Gatherer { return registry }

// MetricsHandler serves the metrics of the process as Prometheus text.
func MetricsHandler() http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, EnableOpenMetrics: true})
}
