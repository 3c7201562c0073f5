package raftnode

import (
	"context"
	"net"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
)

// TestReadIndexCoversWhatFollowersShow: a leader that is slow to apply what is committed must not answer reads as of before
// it. A follower may have shown it to somebody already.
func TestReadIndexCoversWhatFollowersShow(t *testing.T) {
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
		n, err := Open(Config{Name: p.Name, DataDir: t.TempDir(), Listener: listeners[i], InitialMembers: initial})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		nodes = append(nodes, n)
	}
	put := func(key string) kv.TxnRequest {
		return kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key)}}}}
	}
	if _, err := nodes[0].Txn(t.Context(), put("first")); err != nil {
		t.Fatal(err)
	}
	var leader, follower *Node
	for _, n := range nodes {
		if n.isLeader() {
			leader = n
		} else {
			follower = n
		}
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
