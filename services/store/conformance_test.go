package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/kvtest"
)

// start runs a service until the test ends.
func start(t *testing.T, cfg store.Config) *member {
	t.Helper()
	if cfg.DataDir == "" {
		cfg.DataDir = t.TempDir()
	}
	cfg.Logger = testLogger(t)
	s, err := store.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &member{Service: s, cfg: cfg, t: t, cancel: cancel, done: make(chan error, 1)}
	go func() { m.done <- s.Run(ctx) }()
	t.Cleanup(m.stop)
	return m
}

type member struct {
	*store.Service
	cfg     store.Config
	t       *testing.T
	cancel  context.CancelFunc
	done    chan error
	stopped bool
}

func (m *member) stop() {
	if m.stopped {
		return
	}
	m.stopped = true
	m.cancel()
	if err := <-m.done; err != nil {
		m.t.Errorf("%s: %v", m.cfg.Name, err)
	}
}

func (m *member) waitReady() *member {
	m.t.Helper()
	select {
	case <-m.Ready():
	case err := <-m.done:
		m.stopped = true
		m.t.Fatalf("%s ended: %v", m.cfg.Name, err)
	case <-time.After(30 * time.Second):
		m.t.Fatalf("%s is not ready", m.cfg.Name)
	}
	return m
}

// cluster runs n members and returns them, the leader first.
func cluster(t *testing.T, n int) []*member {
	t.Helper()
	return clusterOf(t, n, store.Config{})
}

// clusterOf runs n members that share the settings of cfg.
func clusterOf(t *testing.T, n int, cfg store.Config) []*member {
	t.Helper()
	if cfg.ElectionTimeout == 0 {
		cfg.ElectionTimeout = 2 * time.Second
	}
	var initial []store.Member
	for i := range n {
		initial = append(initial, store.Member{Name: fmt.Sprintf("m%d", i), RaftAddr: freeAddr(t)})
	}
	var ms []*member
	for _, i := range initial {
		c := cfg
		c.Name, c.RaftAddr, c.InitialMembers = i.Name, i.RaftAddr, initial
		ms = append(ms, start(t, c))
	}
	for _, m := range ms {
		m.waitReady()
	}
	for i, m := range ms {
		if m.Node().IsLeader() {
			ms[0], ms[i] = ms[i], ms[0]
		}
	}
	return ms
}

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func dial(t *testing.T, ms ...*member) *client.Client {
	t.Helper()
	var cfg client.Config
	for _, m := range ms {
		cfg.Endpoints = append(cfg.Endpoints, m.Addr())
	}
	c, err := client.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

var discard = slog.New(slog.DiscardHandler)

// testLogger logs into the test's output.
func testLogger(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(writer{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

type writer struct{ t *testing.T }

func (w writer) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

func TestConformanceSingleMember(t *testing.T) {
	m := start(t, store.Config{}).waitReady()
	kvtest.Run(t, func(*testing.T) kv.KV { return m.KV() })
}

func TestConformanceSingleMemberOverGRPC(t *testing.T) {
	c := dial(t, start(t, store.Config{}))
	kvtest.Run(t, func(*testing.T) kv.KV { return c })
}

func TestConformanceCluster(t *testing.T) {
	ms := cluster(t, 3)
	for name, k := range map[string]kv.KV{
		"Leader": ms[0].KV(), "Follower": ms[1].KV(),
		"LeaderOverGRPC": dial(t, ms[0]), "FollowerOverGRPC": dial(t, ms[1]),
	} {
		t.Run(name, func(t *testing.T) { kvtest.Run(t, func(*testing.T) kv.KV { return k }) })
	}
}
