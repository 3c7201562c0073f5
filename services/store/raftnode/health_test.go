package raftnode

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
)

// heldStore is a log store whose writes wait while it is held, or fail.
type heldStore struct {
	logStore
	mu   sync.Mutex
	held chan struct{}
	err  error
}

func (s *heldStore) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := make(chan struct{})
	s.held = held
	return sync.OnceFunc(func() {
		s.mu.Lock()
		s.held = nil
		s.mu.Unlock()
		close(held)
	})
}

func (s *heldStore) StoreLogs(logs []*raft.Log) error {
	s.mu.Lock()
	held, err := s.held, s.err
	s.mu.Unlock()
	if held != nil {
		<-held
	}
	if err != nil {
		return err
	}
	return s.logStore.StoreLogs(logs)
}

// faulty puts a heldStore under a running member.
func faulty(n *Node) *heldStore {
	n.disk.mu.Lock()
	defer n.disk.mu.Unlock()
	s := &heldStore{logStore: n.disk.store}
	n.disk.store = s
	return s
}

// trio opens three members and returns them, the leader first.
func trio(t *testing.T, change func(*Config)) []*Node {
	t.Helper()
	var listeners []net.Listener
	var initial []Peer
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		initial = append(initial, Peer{Name: fmt.Sprintf("m%d", i), Address: l.Addr().String()})
	}
	var nodes []*Node
	for i, p := range initial {
		cfg := Config{Name: p.Name, DataDir: t.TempDir(), Listener: listeners[i], InitialMembers: initial, Logger: discard}
		if change != nil {
			change(&cfg)
		}
		n, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = n.Close() })
		nodes = append(nodes, n)
	}
	nodes[0].stand()
	for _, n := range nodes {
		if err := n.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		if n.isLeader() {
			nodes[0], nodes[i] = nodes[i], nodes[0]
		}
	}
	return nodes
}

func waitProblem(t *testing.T, n *Node, want string) {
	t.Helper()
	for {
		changed := n.ProblemChanged()
		err := n.Problem()
		if want == "" && err == nil || err != nil && want != "" && strings.Contains(err.Error(), want) {
			return
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatalf("the problem is %v, want %q", err, want)
		}
	}
}

// putThrough writes although the leader is being lost: one whose outcome is not known is written again.
func putThrough(t *testing.T, n *Node, key string) {
	t.Helper()
	for {
		err := putErr(t, n, key)
		if err == nil {
			return
		}
		if !errors.Is(err, kv.ErrOutcomeUnknown) {
			t.Fatal(err)
		}
	}
}

func putErr(t *testing.T, n *Node, key string) error {
	_, err := n.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key)}}}})
	return err
}

// TestStuckDiskOfTheLeader: the others get a leader of their own and go on; the old one says that it does not serve and,
// when its disk stays stuck, that it ends, which it does without waiting for the disk.
func TestStuckDiskOfTheLeader(t *testing.T) {
	ms := trio(t, func(c *Config) { c.StallLimit = 200 * time.Millisecond })
	release := faulty(ms[0]).hold()
	defer release()
	go func() { _ = putErr(t, ms[0], "/stuck") }()
	waitProblem(t, ms[0], "has not answered a write")
	putThrough(t, ms[1], "/on") // waits for the next leader
	if ms[0].Leader() == ms[1].Leader() {
		t.Errorf("%s still leads", ms[0].Leader())
	}
	if err := <-ms[0].Failed(); err == nil || !strings.Contains(err.Error(), "so that the others go on") {
		t.Errorf("the leader ends with %v", err)
	}
	if err := ms[0].Close(); err == nil || !strings.Contains(err.Error(), "could not be closed in order") {
		t.Errorf("closing it: %v", err)
	}
}

// TestDiskComesBack: a leader whose disk answers again serves again, as a follower, with what was written meanwhile.
func TestDiskComesBack(t *testing.T) {
	ms := trio(t, func(c *Config) { c.StallLimit = 2 * time.Second })
	release := faulty(ms[0]).hold()
	go func() { _ = putErr(t, ms[0], "/stuck") }()
	waitProblem(t, ms[0], "has not answered a write")
	putThrough(t, ms[1], "/on")
	release()
	waitProblem(t, ms[0], "")
	resp, err := ms[0].Range(t.Context(), kv.RangeRequest{Key: []byte("/on")})
	if err != nil || resp.Count != 1 {
		t.Fatalf("read %v, %v", resp, err)
	}
}

// TestStuckDiskOfAFollower: it says so and waits.
func TestStuckDiskOfAFollower(t *testing.T) {
	ms := trio(t, func(c *Config) { c.StallLimit = 100 * time.Millisecond })
	release := faulty(ms[1]).hold()
	put(t, ms[0], "/a", nil)
	waitProblem(t, ms[1], "has not answered a write")
	put(t, ms[0], "/b", nil)
	release()
	waitProblem(t, ms[1], "")
	select {
	case err := <-ms[1].Failed():
		t.Errorf("the follower ends: %v", err)
	default:
	}
	if err := putErr(t, ms[1], "/c"); err != nil {
		t.Error(err)
	}
}

// TestStuckStateMachine: the leader hands over, although its disk is fine.
func TestStuckStateMachine(t *testing.T) {
	ms := trio(t, func(c *Config) { c.StallLimit = 300 * time.Millisecond })
	ms[0].fsm.mu.Lock()
	go func() { _ = putErr(t, ms[0], "/stuck") }()
	waitProblem(t, ms[0], "state machine")
	putThrough(t, ms[1], "/on")
	ms[0].fsm.mu.Unlock()
	waitProblem(t, ms[0], "")
}

// TestFailedWriteEndsTheMember: a leader whose disk failed acknowledges nothing more, and the others go on.
func TestFailedWriteEndsTheMember(t *testing.T) {
	ms := trio(t, nil)
	s := faulty(ms[0])
	s.mu.Lock()
	s.err = syscall.EIO
	s.mu.Unlock()
	if err := putErr(t, ms[0], "/a"); err == nil {
		t.Error("a write was acknowledged")
	}
	if err := <-ms[0].Failed(); !errors.Is(err, syscall.EIO) || !strings.Contains(err.Error(), ms[0].cfg.DataDir) {
		t.Errorf("it ends with %v", err)
	}
	s.mu.Lock()
	s.err = nil
	s.mu.Unlock()
	if err := ms[0].Close(); err != nil {
		t.Error(err)
	}
	putThrough(t, ms[1], "/b")
}

// TestFullDiskOfALoneMember: the error names the disk, and the member starts again when there is space.
func TestFullDiskOfALoneMember(t *testing.T) {
	dir := t.TempDir()
	n, err := openAlone(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	put(t, n, "/a", nil)
	s := faulty(n)
	s.mu.Lock()
	s.err = syscall.ENOSPC
	s.mu.Unlock()
	if err := putErr(t, n, "/b"); err == nil {
		t.Error("a write was acknowledged")
	}
	if err := <-n.Failed(); !strings.Contains(err.Error(), "is full") || !strings.Contains(err.Error(), dir) {
		t.Errorf("it ends with %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err = openAlone(dir, ""); err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	put(t, n, "/b", nil)
	if resp, err := n.Range(t.Context(), kv.RangeRequest{Key: []byte("/"), End: []byte{0}}); err != nil || resp.Count != 2 {
		t.Fatalf("read %v, %v", resp, err)
	}
}

// TestLeaderGone: with a time-out that nobody could wait for, the followers elect a leader as soon as the old one's process
// has ended, and the first write does not wait for a time-out either. On a busy machine two may stand at the same moment and
// both fail, as Raft allows, so one cluster of three has to succeed.
func TestLeaderGone(t *testing.T) {
	var err error
	for range 3 {
		ms := trio(t, func(c *Config) { c.HeartbeatTimeout = time.Hour })
		put(t, ms[1], "/a", nil)
		_ = ms[0].Close()
		for err = kv.ErrOutcomeUnknown; errors.Is(err, kv.ErrOutcomeUnknown); {
			err = putErr(t, ms[1], "/b")
		}
		if err == nil {
			putThrough(t, ms[2], "/c")
			return
		}
	}
	t.Fatal(err)
}

// TestAloneAtOnce: so does a member that is alone, new and started again.
func TestAloneAtOnce(t *testing.T) {
	dir := t.TempDir()
	for i := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		n, err := Open(Config{Name: "one", DataDir: dir, Listener: l, HeartbeatTimeout: time.Hour, Logger: discard})
		if err != nil {
			t.Fatal(err)
		}
		put(t, n, fmt.Sprint(i), nil)
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDivergence corrupts the content of one of three members: the check finds it, the alarm names it on all, it ends, and
// the alarm goes when it is taken out.
func TestDivergence(t *testing.T) {
	ms := trio(t, func(c *Config) { c.CheckInterval = -1 })
	put(t, ms[0], "/a", []byte("right"))
	c, err := ms[0].CheckConsistency(t.Context())
	if err != nil || !c.Consistent || len(c.Members) != 3 {
		t.Fatalf("the members are said to differ: %+v, %v", c, err)
	}
	odd := ms[1]
	odd.fsm.mu.Lock()
	if _, err := odd.fsm.state.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/a"), Value: []byte("wrong")}}}}, 1<<30); err != nil {
		t.Fatal(err)
	}
	odd.fsm.mu.Unlock()
	if c, err = ms[0].CheckConsistency(t.Context()); err != nil || c.Consistent {
		t.Fatalf("the members are said to agree: %+v, %v", c, err)
	}
	if err := <-odd.Failed(); !strings.Contains(err.Error(), `"`+odd.Name()+`" differs`) {
		t.Errorf("it ends with %v", err)
	}
	for _, m := range ms {
		if err := m.WaitReady(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a := m.Alarms(); len(a) != 1 || a[0].Member != odd.Name() {
			t.Errorf("%s shows the alarms %v", m.Name(), a)
		}
	}
	// A snapshot keeps it.
	pr, pw := net.Pipe()
	go func() { _ = ms[0].WriteSnapshot(pw); pw.Close() }()
	s, _, err := mvcc.Restore(pr)
	if err != nil || len(s.Corrupt()) != 1 {
		t.Errorf("restored alarms %v, %v", s.Corrupt(), err)
	}
	if err := ms[0].Remove(t.Context(), odd.Name()); err != nil {
		t.Fatal(err)
	}
	if a := ms[0].Alarms(); len(a) != 0 {
		t.Errorf("alarms %v are left", a)
	}
}

// TestLateStart: the last of the first members starts when the others have a leader, which talks to it from its first moment.
func TestLateStart(t *testing.T) {
	for range 5 {
		var listeners []net.Listener
		var initial []Peer
		for i := range 3 {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listeners = append(listeners, l)
			initial = append(initial, Peer{Name: fmt.Sprintf("m%d", i), Address: l.Addr().String()})
		}
		for i, p := range initial {
			n, err := Open(Config{Name: p.Name, DataDir: t.TempDir(), Listener: listeners[i], InitialMembers: initial, Logger: discard})
			if err != nil {
				t.Fatalf("%s does not start: %v", p.Name, err)
			}
			t.Cleanup(func() { _ = n.Close() })
			switch i {
			case 1:
				n.stand()
				put(t, n, "/a", nil)
			case 2:
				putThrough(t, n, "/b")
			}
		}
	}
}
