package raftnode

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
)

// TestAnnounceOutlastsALongWaitForALeader: a member that was alone for longer than a request waits for a leader still tells
// the others where its clients reach it.
func TestAnnounceOutlastsALongWaitForALeader(t *testing.T) {
	listeners := map[string]net.Listener{}
	var initial []Peer
	for _, name := range []string{"one", "two"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners[name] = l
		initial = append(initial, Peer{Name: name, Address: l.Addr().String()})
	}
	open := func(name string, leaderWait time.Duration) *Node {
		n, err := Open(Config{
			Name: name, DataDir: t.TempDir(), Listener: listeners[name], InitialMembers: initial, ClientAddress: name + ":1", LeaderWait: leaderWait,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		return n
	}
	one := open("one", time.Millisecond)
	for range 3 {
		if err := one.linearize(t.Context()); !errors.Is(err, kv.ErrNoLeader) {
			t.Fatalf("one of two members: %v, want %v", err, kv.ErrNoLeader)
		}
	}
	two := open("two", 0)
	for {
		changed := two.fsm.progress.wait()
		known := two.fsm.members()
		if known["one"] == "one:1" && known["two"] == "two:1" {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("known are %v", known)
		}
	}
}
