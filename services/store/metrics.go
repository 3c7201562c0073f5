package store

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/orrery-io/orrery/services/store/raftnode"
)

// registerMetrics adds the member's figures to r. They are read when they are asked for.
func registerMetrics(r prometheus.Registerer, n *raftnode.Node) {
	gauge := func(name, help string, value func(raftnode.Status) float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "orrery", Subsystem: "store", Name: name, Help: help},
			func() float64 { return value(n.Status()) }))
	}
	gauge("revision", "Newest revision of the key space.", func(s raftnode.Status) float64 { return float64(s.Revision) })
	gauge("compact_revision", "Revision before which history is gone.", func(s raftnode.Status) float64 { return float64(s.CompactRevision) })
	gauge("size_bytes", "Bytes of all versions kept.", func(s raftnode.Status) float64 { return float64(s.SizeBytes) })
	gauge("live_bytes", "Bytes of the newest version of each key.", func(s raftnode.Status) float64 { return float64(s.LiveBytes) })
	gauge("quota_bytes", "Size past which writes fail.", func(s raftnode.Status) float64 { return float64(s.QuotaBytes) })
	gauge("keys", "Living keys.", func(s raftnode.Status) float64 { return float64(s.Keys) })
	gauge("leases", "Leases.", func(s raftnode.Status) float64 { return float64(s.Leases) })
	gauge("watchers", "Open watches.", func(s raftnode.Status) float64 { return float64(s.Watchers) })
	gauge("log_file_bytes", "Size of the log file.", func(s raftnode.Status) float64 { return float64(s.LogFileBytes) })
	gauge("pending_proposals", "Commands that wait for a log entry.", func(s raftnode.Status) float64 { return float64(s.Proposals) })
	gauge("is_leader", "1 when this member leads.", func(s raftnode.Status) float64 {
		if s.Leads {
			return 1
		}
		return 0
	})
	commands := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "orrery", Subsystem: "store", Name: "batch_commands",
		Help: "Commands in one log entry.", Buckets: prometheus.ExponentialBuckets(1, 2, 11)})
	size := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "orrery", Subsystem: "store", Name: "batch_bytes",
		Help: "Bytes of one log entry.", Buckets: prometheus.ExponentialBuckets(256, 4, 8)})
	r.MustRegister(commands, size)
	n.OnBatch(func(b raftnode.Batch) { commands.Observe(float64(b.Commands)); size.Observe(float64(b.Bytes)) })
}
