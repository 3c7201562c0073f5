package store

import (
	"github.com/prometheus/client_golang/prometheus"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// registerMetrics adds the member's figures to r: those that are counted as things happen, and those that are read when
// somebody asks.
func registerMetrics(r prometheus.Registerer, n *raftnode.Node) {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "orrery", Subsystem: "store", Name: name, Help: help, Buckets: buckets})
		r.MustRegister(h)
		return h
	}
	seconds := prometheus.ExponentialBuckets(0.000_1, 2, 17) // to 6.5 s
	commands := histogram("batch_commands", "Commands in one log entry.", prometheus.ExponentialBuckets(1, 2, 11))
	size := histogram("batch_bytes", "Bytes of one log entry.", prometheus.ExponentialBuckets(256, 4, 8))
	queued := histogram("propose_seconds", "Time that the first command of a log entry waited for one in flight.", seconds)
	commit := histogram("commit_seconds", "Time from the proposal of a log entry until a majority had it on disk and its turn came.", seconds)
	apply := histogram("apply_seconds", "Time that the state machine took for a log entry.", seconds)
	flush := histogram("log_append_seconds", "Time that a write to the log took, flush included.", seconds)
	proposals := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "orrery", Subsystem: "store", Name: "proposals_total", Help: "Commands that this member, as the leader, has put through the log."})
	appended := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "orrery", Subsystem: "store", Name: "log_append_bytes_total", Help: "Bytes written to the log."})
	r.MustRegister(proposals, appended, newCollector(n))
	n.OnBatch(func(b raftnode.Batch) {
		proposals.Add(float64(b.Commands))
		commands.Observe(float64(b.Commands))
		size.Observe(float64(b.Bytes))
		queued.Observe(b.Queued.Seconds())
		commit.Observe(b.Commit.Seconds())
		apply.Observe(b.Apply.Seconds())
	})
	n.OnAppend(func(a raftnode.Append) {
		flush.Observe(a.Took.Seconds())
		appended.Add(float64(a.Bytes))
	})
}

// collector reads a member's figures, once for all of them.
type collector struct {
	node   *raftnode.Node
	values []value
	// lag and alarm have one figure for each member and for each alarm.
	lag, alarm *prometheus.Desc
}

// value is one figure of a member's status.
type value struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(raftnode.Status) float64
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("orrery_store_"+name, help, labels, nil)
}

func newCollector(n *raftnode.Node) *collector {
	c := &collector{
		node:  n,
		lag:   desc("member_lag_entries", "Log entries that another member lacks, on the leader alone.", "member"),
		alarm: desc("alarm", "1 for each alarm that is raised; member is empty when it is about the whole store.", "alarm", "member"),
	}
	gauge := func(name, help string, of func(raftnode.Status) float64) {
		c.values = append(c.values, value{desc(name, help), prometheus.GaugeValue, of})
	}
	gauge("revision", "Newest revision of the key space.", func(s raftnode.Status) float64 { return float64(s.Revision) })
	gauge("compact_revision", "Revision before which history is gone.", func(s raftnode.Status) float64 { return float64(s.CompactRevision) })
	gauge("size_bytes", "Bytes of all versions kept.", func(s raftnode.Status) float64 { return float64(s.SizeBytes) })
	gauge("live_bytes", "Bytes of the newest version of each key.", func(s raftnode.Status) float64 { return float64(s.LiveBytes) })
	gauge("quota_bytes", "Size past which writes fail.", func(s raftnode.Status) float64 { return float64(s.QuotaBytes) })
	gauge("keys", "Living keys.", func(s raftnode.Status) float64 { return float64(s.Keys) })
	gauge("leases", "Leases.", func(s raftnode.Status) float64 { return float64(s.Leases) })
	gauge("watchers", "Open watches.", func(s raftnode.Status) float64 { return float64(s.Watch.Watchers) })
	gauge("slow_watchers", "Open watches that could not keep up and read the history, or have not caught up with the present yet.", func(s raftnode.Status) float64 { return float64(s.Watch.Lagging) })
	gauge("log_file_bytes", "Size of the log on disk.", func(s raftnode.Status) float64 { return float64(s.LogFileBytes) })
	gauge("raft_term", "Raft's term.", func(s raftnode.Status) float64 { return float64(s.Term) })
	gauge("raft_last_index", "Last entry of the log.", func(s raftnode.Status) float64 { return float64(s.LastIndex) })
	gauge("raft_applied_index", "Last entry that the state machine has applied.", func(s raftnode.Status) float64 { return float64(s.Applied) })
	gauge("pending_proposals", "Commands that wait for a log entry.", func(s raftnode.Status) float64 { return float64(s.Proposals) })
	gauge("is_leader", "1 when this member leads.", func(s raftnode.Status) float64 { return number(s.Leads) })
	gauge("has_leader", "1 when this member knows a leader.", func(s raftnode.Status) float64 { return number(s.Leader != "") })
	gauge("healthy", "0 when this member is stuck or knows no leader.", func(s raftnode.Status) float64 { return number(s.Problem == nil) })
	c.values = append(c.values, value{desc("leader_changes_total", "Leaders that this member has seen come."), prometheus.CounterValue,
		func(s raftnode.Status) float64 { return float64(s.LeaderChanges) }},
		value{desc("watches_expired_total", "Watches that ended because their history was compacted."), prometheus.CounterValue,
			func(s raftnode.Status) float64 { return float64(s.Watch.Expired) }})
	return c
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, v := range c.values {
		out <- v.desc
	}
	out <- c.lag
	out <- c.alarm
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.node.Status()
	for _, v := range c.values {
		out <- prometheus.MustNewConstMetric(v.desc, v.kind, v.of(s))
	}
	for name, lag := range c.node.Lag() {
		out <- prometheus.MustNewConstMetric(c.lag, prometheus.GaugeValue, float64(lag), name)
	}
	for _, a := range s.Alarms {
		out <- prometheus.MustNewConstMetric(c.alarm, prometheus.GaugeValue, 1, alarmName(a.Kind), a.Member)
	}
}

func alarmName(k storev1.AlarmType) string {
	switch k {
	case storev1.AlarmType_ALARM_TYPE_NO_SPACE:
		return "NOSPACE"
	case storev1.AlarmType_ALARM_TYPE_CORRUPT:
		return "CORRUPT"
	}
	return k.String()
}
