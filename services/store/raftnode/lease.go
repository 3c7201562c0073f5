package raftnode

import (
	"context"
	"errors"
	"maps"
	"slices"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
)

// LeaseTimeToLive tells how many seconds a lease was granted for, how many it still lives, and which keys it holds, in
// order. Only the leader counts time: it is asked. Errors: kv.ErrLeaseNotFound, kv.ErrNoLeader.
func (n *Node) LeaseTimeToLive(ctx context.Context, id int64) (granted, remaining int64, keys [][]byte, err error) {
	if err := n.linearize(ctx); err != nil {
		return 0, 0, nil, err
	}
	err = n.retry(ctx, func(ctx context.Context) (err error) {
		if n.isLeader() {
			granted, remaining, err = n.lessor.TimeToLive(id)
			return err
		}
		return n.askLeader(ctx, kv.ErrNoLeader, func(ctx context.Context, leader storev1.PeerServiceClient) error {
			resp, err := leader.TimeToLive(ctx, &storev1.TimeToLiveRequest{Id: id})
			granted, remaining = resp.GetGrantedTtlSeconds(), resp.GetRemainingTtlSeconds()
			return err
		})
	})
	if err != nil {
		return 0, 0, nil, err
	}
	n.fsm.mu.Lock()
	names, ok := n.fsm.state.LeaseKeys(id)
	n.fsm.mu.Unlock()
	if !ok {
		return 0, 0, nil, kv.ErrLeaseNotFound
	}
	for _, k := range names {
		keys = append(keys, []byte(k))
	}
	return granted, remaining, keys, nil
}

// Leases lists the ids of all leases, in order.
func (n *Node) Leases(ctx context.Context) ([]int64, error) {
	if err := n.linearize(ctx); err != nil {
		return nil, err
	}
	n.fsm.mu.Lock()
	defer n.fsm.mu.Unlock()
	return slices.Sorted(maps.Keys(n.fsm.state.LeaseTTLs())), nil
}

// renew gives a lease its whole time again and returns that in seconds. A leader that was cut off or stopped for a while
// may have been replaced without knowing; what it promises binds nobody. So the answer counts only once a majority has
// confirmed, after the renewal, that it leads: a leader that comes later counts from a later moment.
func (n *Node) renew(ctx context.Context, id int64) (ttl int64, err error) {
	l := n.lead.Load()
	if l == nil {
		return 0, kv.ErrNoLeader
	}
	ttl, err = n.lessor.KeepAlive(id)
	if errors.Is(err, kv.ErrNoLeader) {
		return 0, err
	}
	if !n.Linear() {
		if _, lost := n.rounds.join(ctx, n.readRound); lost != nil {
			return 0, lost
		}
	}
	if n.lead.Load() != l || l.term != n.raft.CurrentTerm() {
		return 0, kv.ErrNoLeader
	}
	return ttl, err
}
