package raftnode

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
)

// three opens a cluster of three that works, and returns its leader and the others.
func three(t *testing.T) (leader *Node, followers []*Node) {
	t.Helper()
	var listeners []net.Listener
	var initial []Peer
	for _, name := range []string{"one", "two", "three"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		initial = append(initial, Peer{Name: name, Address: l.Addr().String()})
	}
	var nodes []*Node
	for i, p := range initial {
		n, err := Open(Config{Name: p.Name, DataDir: t.TempDir(), Listener: listeners[i], InitialMembers: initial, LeaderWait: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		nodes = append(nodes, n)
	}
	if _, err := nodes[0].Revision(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		if n.isLeader() {
			leader = n
		} else {
			followers = append(followers, n)
		}
	}
	return leader, followers
}

// TestReadIndexCoversWhatFollowersShow: a leader that is slow to apply what is committed must not answer reads as of before
// it. A follower may have shown it to somebody already.
func TestReadIndexCoversWhatFollowersShow(t *testing.T) {
	leader, followers := three(t)
	follower := followers[0]
	put := func(key string) kv.TxnRequest {
		return kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key)}}}}
	}
	before, err := follower.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	leader.fsm.mu.Lock() // nothing is applied here from now on
	wrote := make(chan error, 1)
	go func() {
		_, err := leader.Txn(context.WithoutCancel(t.Context()), put("second"))
		wrote <- err
	}()
	for {
		moved := follower.fsm.progress.wait()
		if follower.fsm.hub.View().Revision() > before {
			break
		}
		<-moved
	}
	shown := follower.fsm.applied.Load()
	index, err := leader.readIndex(t.Context())
	leader.fsm.mu.Unlock()
	if err != nil || index < shown {
		t.Errorf("the leader answers reads as of entry %d (%v), a follower shows entry %d already", index, err, shown)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// TestRenewalNeedsAMajority: a leader that cannot reach the others may have been replaced, and a lease that it renews may
// end at any moment by the new one's count.
func TestRenewalNeedsAMajority(t *testing.T) {
	leader, followers := three(t)
	l, err := leader.LeaseGrant(t.Context(), 0, 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.LeaseKeepAlive(t.Context(), l.ID); err != nil {
		t.Fatal(err)
	}
	for _, f := range followers {
		f.mux.Close() // nobody answers the leader
	}
	if ttl, err := leader.renew(t.Context(), l.ID); err == nil {
		t.Errorf("a leader on its own renewed a lease for %d s", ttl)
	}
}
