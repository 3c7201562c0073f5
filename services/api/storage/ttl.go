package storage

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Objects that expire share leases: one serves all that are written within reuseFor, up to maxPerLease of them, and lasts
// that much longer than it must. A lease a object would double the writes.
const (
	reuseFor    = time.Minute
	maxPerLease = 1000
)

type leases struct {
	kv    kv.KV
	clock clock.PassiveClock

	mu    sync.Mutex
	byTTL map[int64]*sharedLease
}

type sharedLease struct {
	id      int64
	until   time.Time
	objects int
}

// get is the id of a lease that lives at least ttlSeconds from now; 0 for a ttl of 0.
func (l *leases) get(ctx context.Context, ttlSeconds int64) (int64, error) {
	if ttlSeconds <= 0 {
		return 0, nil
	}
	now := l.clock.Now()
	if id := l.reuse(ttlSeconds, now); id != 0 {
		return id, nil
	}
	granted, err := l.kv.LeaseGrant(ctx, 0, ttlSeconds+int64(reuseFor/time.Second))
	if err != nil {
		return 0, fmt.Errorf("a lease of %d seconds: %w", ttlSeconds, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byTTL == nil {
		l.byTTL = map[int64]*sharedLease{}
	}
	l.byTTL[ttlSeconds] = &sharedLease{id: granted.ID, until: now.Add(reuseFor), objects: 1}
	return granted.ID, nil
}

func (l *leases) reuse(ttlSeconds int64, now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byTTL[ttlSeconds]
	if s == nil || now.After(s.until) || s.objects >= maxPerLease {
		return 0
	}
	s.objects++
	return s.id
}
