package controller

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orrery-io/orrery/services/internal/telemetry"
)

var (
	queueDepth = telemetry.Register(prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "orrery_workqueue_depth",
		Help: "Keys that wait to be reconciled.",
	}, []string{"controller"}))

	reconcileSeconds = telemetry.Register(prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "orrery_reconcile_seconds",
		Help:    "Time of one reconcile, by outcome: success, conflict, error, canceled.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60},
	}, []string{"controller", "outcome"}))
)
