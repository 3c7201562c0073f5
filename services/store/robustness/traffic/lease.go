package traffic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// heartbeats holds one lease after another: each with a key, renewed three times in its life, then given up, revoked, or
// left to expire. It works until done is closed.
type heartbeats struct {
	c      *Client
	rand   *rand.Rand
	prefix string
}

func (h *heartbeats) run(ctx context.Context, done <-chan struct{}) {
	for n := 0; wait(ctx, done, h.rand); n++ {
		h.hold(ctx, done, fmt.Sprintf("%sleases/%s-%d", h.prefix, h.c.Name, n))
	}
}

// hold is the life of one lease.
func (h *heartbeats) hold(ctx context.Context, done <-chan struct{}, key string) {
	ttl := int64(2 + h.rand.IntN(2))
	granted := h.c.clock.Now()
	call, cancel := context.WithTimeout(ctx, callTimeout)
	got, err := h.c.kv.LeaseGrant(call, 0, ttl)
	cancel()
	if err != nil {
		return
	}
	l := &history.Lease{ID: got.ID, TTL: ttl, Key: key, Renewed: []int64{granted}}
	h.c.rec.Lease(l)
	put := &history.Op{Kind: history.Put, Keys: []string{key}, Value: key, Lease: l.ID}
	if err := h.c.put(ctx, put); errors.Is(err, kv.ErrLeaseNotFound) {
		l.Lost = put.Return
		return
	}
	for beats := 2 + h.rand.IntN(8); beats > 0; beats-- {
		t := time.NewTimer(time.Duration(ttl) * time.Second / 3)
		select {
		case <-t.C:
		case <-done:
			t.Stop()
			l.Abandoned = h.c.clock.Now()
			return
		}
		asked := h.c.clock.Now()
		// A keep-alive that is late is worth nothing: the next one comes soon.
		call, cancel := context.WithTimeout(ctx, time.Duration(ttl)*time.Second/2)
		_, err := h.c.kv.LeaseKeepAlive(call, l.ID)
		cancel()
		switch {
		case err == nil:
			l.Renewed = append(l.Renewed, asked)
		case errors.Is(err, kv.ErrLeaseNotFound):
			l.Lost = h.c.clock.Now()
			return
		}
	}
	if h.rand.IntN(2) == 0 {
		l.Revoked = h.c.clock.Now()
		call, cancel := context.WithTimeout(ctx, callTimeout)
		_ = h.c.kv.LeaseRevoke(call, l.ID)
		cancel()
		return
	}
	l.Abandoned = h.c.clock.Now()
}

// revoke ends a lease, which may be gone already.
func revoke(ctx context.Context, k kv.KV, id int64) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := k.LeaseRevoke(call, id); err != nil && !errors.Is(err, kv.ErrLeaseNotFound) {
		return err
	}
	return nil
}
