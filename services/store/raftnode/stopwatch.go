package raftnode

import (
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// stopwatch tells for how long something that happens one at a time has been going on.
type stopwatch struct {
	clock clock.PassiveClock
	// since is when the present one began, in nanoseconds, 0 when there is none.
	since atomic.Int64
}

// start begins; calling what it returns ends and tells how long it took.
func (s *stopwatch) start() (stop func() time.Duration) {
	begin := s.clock.Now()
	s.since.Store(max(begin.UnixNano(), 1))
	return func() time.Duration {
		s.since.Store(0)
		return s.clock.Since(begin)
	}
}

// running is for how long the present one has been going on, 0 when there is none.
func (s *stopwatch) running() time.Duration {
	since := s.since.Load()
	if since == 0 {
		return 0
	}
	return max(s.clock.Since(time.Unix(0, since)), 1)
}
