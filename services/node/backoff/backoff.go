// Package backoff remembers, per key, how long to wait before the next attempt: twice as long after each failure, up to a limit, and from the
// beginning again after a quiet time.
package backoff

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Backoff is a set of keys with their delays. It is safe for concurrent use.
type Backoff struct {
	clock         clock.PassiveClock
	initial, most time.Duration
	mu            sync.Mutex
	entries       map[string]entry
}

type entry struct {
	delay time.Duration
	last  time.Time
}

// New makes a set whose delays begin at initial and end at most. A key that has been quiet for twice most begins anew.
func New(clock clock.PassiveClock, initial, most time.Duration) *Backoff {
	return &Backoff{clock: clock, initial: initial, most: most, entries: map[string]entry{}}
}

// Next notes a failure at the given time and returns the delay that follows it.
func (b *Backoff) Next(key string, failed time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok || failed.Sub(e.last) > 2*b.most {
		e.delay = b.initial
	} else {
		e.delay = min(2*e.delay, b.most)
	}
	e.last = b.clock.Now()
	b.entries[key] = e
	return e.delay
}

// Delay is the key's present delay: 0 when it never failed or was quiet for long enough.
func (b *Backoff) Delay(key string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.entries[key]
	if !ok || b.clock.Since(e.last) > 2*b.most {
		return 0
	}
	return e.delay
}

// Remaining is how much of the key's delay after since is still to be waited for; 0 when the time has come.
func (b *Backoff) Remaining(key string, since time.Time) time.Duration {
	delay := b.Delay(key)
	if delay == 0 {
		return 0
	}
	return max(0, delay-b.clock.Since(since))
}

// Forget drops keys for which drop is true.
func (b *Backoff) Forget(drop func(key string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.entries {
		if drop(key) {
			delete(b.entries, key)
		}
	}
}
