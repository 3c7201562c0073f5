package raftnode

import (
	"time"

	"github.com/orrery-io/orrery/services/store/mvcc"
)

// compactor decides up to where history may be forgotten. It remembers which revision was the newest at which time.
type compactor struct {
	retention    time.Duration
	historyBytes int64
	// revisions is how many revisions are kept at most, 0 for any number.
	revisions int64
	samples   []sample
}

type sample struct {
	at  time.Time
	rev int64
}

// due returns the revision to compact at, 0 for none. It is called now and then, with rising times.
func (c *compactor) due(now time.Time, s mvcc.Stats) (rev int64) {
	c.samples = append(c.samples, sample{now, s.Revision})
	if c.retention > 0 {
		old := 0
		for old < len(c.samples) && now.Sub(c.samples[old].at) >= c.retention {
			rev = c.samples[old].rev
			old++
		}
		c.samples = append(c.samples[:0], c.samples[old:]...)
	} else {
		c.samples = c.samples[:0]
	}
	// More history than there is room for: the older half of it goes, whatever its age.
	if history := s.SizeBytes - s.LiveBytes; c.historyBytes > 0 && history > c.historyBytes {
		rev = max(rev, s.CompactRevision+(s.Revision-s.CompactRevision)/2)
	}
	if c.revisions > 0 {
		rev = max(rev, s.Revision-c.revisions)
	}
	if rev <= s.CompactRevision {
		return 0
	}
	return rev
}
