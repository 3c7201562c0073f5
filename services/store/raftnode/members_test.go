package raftnode

import (
	"net"
	"testing"
	"time"
)

// TestMovedMember: a member whose address has changed tells the others, and they find it again.
func TestMovedMember(t *testing.T) {
	ms := trio(t, nil)
	put(t, ms[0], "/a", nil)
	moved := ms[2].cfg
	if err := ms[2].Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if moved.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	old := moved.AdvertiseAddr
	moved.AdvertiseAddr = moved.Listener.Addr().String()
	n, err := Open(moved)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	put(t, n, "/b", nil)
	m, err := ms[0].member(moved.Name)
	if err != nil || m.RaftAddress != moved.AdvertiseAddr || !m.Voter {
		t.Errorf("after its move from %s to %s the member is %+v, %v", old, moved.AdvertiseAddr, m, err)
	}
}

// TestAloneAgain: the last member answers reads without asking anybody, as soon as the others are out.
func TestAloneAgain(t *testing.T) {
	ms := trio(t, nil)
	for _, m := range ms[1:] {
		if l := ms[0].lead.Load(); l == nil || l.sole.Load() {
			t.Fatalf("with others it leads as %+v", l)
		}
		if err := ms[0].Remove(t.Context(), m.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if l := ms[0].lead.Load(); l == nil || !l.sole.Load() {
		t.Fatalf("alone it leads as %+v", l)
	}
	put(t, ms[0], "/a", nil)
}

// TestLeaderless: a member that knows no leader for a while says that it does not serve, and serves again with one.
func TestLeaderless(t *testing.T) {
	ms := trio(t, func(c *Config) { c.HeartbeatTimeout, c.StallLimit = 300*time.Millisecond, time.Second })
	_ = ms[0].Close()
	waitProblem(t, ms[1], "") // whoever leads now
	back := ms[2].cfg
	if err := ms[2].Close(); err != nil {
		t.Fatal(err)
	}
	waitProblem(t, ms[1], "no leader is known")
	var err error
	if back.Listener, err = net.Listen("tcp", back.AdvertiseAddr); err != nil {
		t.Fatal(err)
	}
	n, err := Open(back)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	waitProblem(t, ms[1], "")
	put(t, n, "/a", nil)
}
