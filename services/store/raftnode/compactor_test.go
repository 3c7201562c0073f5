package raftnode

import (
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/mvcc"
)

func TestCompactor(t *testing.T) {
	start := time.Unix(0, 0)
	c := compactor{retention: time.Minute, historyBytes: 1000}
	for i, step := range []struct {
		at    time.Duration
		stats mvcc.Stats
		want  int64
	}{
		{0, mvcc.Stats{Revision: 10}, 0},
		{30 * time.Second, mvcc.Stats{Revision: 20}, 0},
		{60 * time.Second, mvcc.Stats{Revision: 30}, 10},
		{70 * time.Second, mvcc.Stats{Revision: 30, CompactRevision: 10}, 0},
		{2 * time.Minute, mvcc.Stats{Revision: 40, CompactRevision: 10}, 30},
		{2*time.Minute + time.Second, mvcc.Stats{Revision: 40, CompactRevision: 40}, 0},
		// More history than is allowed: half of it goes, however young.
		{2*time.Minute + 2*time.Second, mvcc.Stats{Revision: 100, CompactRevision: 40, SizeBytes: 5000, LiveBytes: 3000}, 70},
		// Large, but all of it living.
		{2*time.Minute + 3*time.Second, mvcc.Stats{Revision: 100, CompactRevision: 70, SizeBytes: 5000, LiveBytes: 4500}, 0},
	} {
		if got := c.due(start.Add(step.at), step.stats); got != step.want {
			t.Errorf("step %d: compacts at %d, want %d", i, got, step.want)
		}
	}

	c = compactor{revisions: 100}
	for _, step := range []struct{ revision, compacted, want int64 }{{90, 0, 0}, {150, 0, 50}, {150, 50, 0}} {
		if got := c.due(start, mvcc.Stats{Revision: step.revision, CompactRevision: step.compacted}); got != step.want {
			t.Errorf("at revision %d, compacted at %d: compacts at %d, want %d", step.revision, step.compacted, got, step.want)
		}
	}
}
