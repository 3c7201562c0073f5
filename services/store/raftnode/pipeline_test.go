package raftnode

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"
)

// TestRefusalEndsPipeline sends into a pipeline whose reader went away with the first refusal, as the library's does: a
// sender must be told, not blocked.
func TestRefusalEndsPipeline(t *testing.T) {
	follower, err := raft.NewTCPTransport("127.0.0.1:0", nil, 1, 10*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	leader, err := raft.NewTCPTransport("127.0.0.1:0", nil, 1, 10*time.Second, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer leader.Close()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case rpc := <-follower.Consumer():
				rpc.Respond(&raft.AppendEntriesResponse{Success: false}, nil)
			case <-stop:
				return
			}
		}
	}()
	inner, err := leader.AppendEntriesPipeline("follower", follower.LocalAddr())
	if err != nil {
		t.Fatal(err)
	}
	p := observed(inner, "follower", &contacts{})
	defer p.Close()
	go func() { <-p.Consumer() }() // reads one answer and no more
	for range 1000 {
		if _, err := p.AppendEntries(&raft.AppendEntriesRequest{}, &raft.AppendEntriesResponse{}); err != nil {
			return
		}
	}
	t.Fatal("a pipeline whose follower refuses takes calls for ever")
}
