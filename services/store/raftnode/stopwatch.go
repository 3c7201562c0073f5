package raftnode

import (
	"sync/atomic"
	"time"
)

// stopwatch tells for how long something that happens one at a time has been going on.
type stopwatch struct {
	now func() time.Time
	// since is when the present one began, in nanoseconds, 0 when there is none.
	since atomic.Int64
}

func (s *stopwatch) begin(now time.Time) { s.since.Store(max(now.UnixNano(), 1)) }

func (s *stopwatch) end() { s.since.Store(0) }

// running is for how long the present one has been going on, 0 when there is none.
func (s *stopwatch) running() time.Duration {
	since := s.since.Load()
	if since == 0 {
		return 0
	}
	return max(time.Duration(s.now().UnixNano()-since), 1)
}
