package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/kv"
)

func TestLeaseTimeToLive(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(1000, 0))
	n := start(t, store.Config{Clock: clk}).waitReady().Node()
	l, err := n.LeaseGrant(t.Context(), 7, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.LeaseGrant(t.Context(), 3, 1000); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"/b", "/a"} {
		if _, err := n.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(k), Lease: l.ID}}}}); err != nil {
			t.Fatal(err)
		}
	}
	clk.Step(3*time.Second + time.Millisecond)
	granted, remaining, keys, err := n.LeaseTimeToLive(t.Context(), l.ID)
	if err != nil || granted != 10 || remaining != 7 || len(keys) != 2 || string(keys[0]) != "/a" {
		t.Errorf("granted %d, remaining %d, keys %q, %v", granted, remaining, keys, err)
	}
	if ids, err := n.Leases(t.Context()); err != nil || !slices.Equal(ids, []int64{3, 7}) {
		t.Errorf("leases %v, %v", ids, err)
	}
	if _, _, _, err := n.LeaseTimeToLive(t.Context(), 5); !errors.Is(err, kv.ErrLeaseNotFound) {
		t.Errorf("an unknown lease: %v", err)
	}
}

// TestLeaseTimeToLiveOnAFollower: a follower asks the leader, who alone counts the time.
func TestLeaseTimeToLiveOnAFollower(t *testing.T) {
	follower := cluster(t, 3)[1].Node()
	l, err := follower.LeaseGrant(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	granted, remaining, keys, err := follower.LeaseTimeToLive(t.Context(), l.ID)
	if err != nil || granted != 1000 || remaining == 0 || remaining > 1000 || len(keys) != 0 {
		t.Errorf("granted %d, remaining %d, keys %q, %v", granted, remaining, keys, err)
	}
}
