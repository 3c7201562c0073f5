package store_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/kv"
)

// TestMetrics: what an operator has a panel for is there and counts.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := start(t, store.Config{Metrics: reg}).waitReady()
	c := dial(t, m)
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/a")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 3 {
		mustPut(t, c, "/a", "x")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		x := f.GetMetric()[0]
		switch {
		case x.Histogram != nil:
			got[f.GetName()] = float64(x.Histogram.GetSampleCount())
		case x.Counter != nil:
			got[f.GetName()] = x.Counter.GetValue()
		default:
			got[f.GetName()] = x.GetGauge().GetValue()
		}
	}
	for _, name := range []string{
		"proposals_total", "propose_seconds", "commit_seconds", "apply_seconds", "batch_commands", "batch_bytes", "log_append_seconds", "log_append_bytes_total",
		"leader_changes_total", "size_bytes", "log_file_bytes", "watchers", "is_leader", "has_leader", "healthy", "raft_applied_index",
	} {
		if got["orrery_store_"+name] <= 0 {
			t.Errorf("%s is %v", name, got["orrery_store_"+name])
		}
	}
	if got["orrery_store_revision"] != 4 || got["orrery_store_keys"] != 1 {
		t.Errorf("revision %v, keys %v", got["orrery_store_revision"], got["orrery_store_keys"])
	}
}
