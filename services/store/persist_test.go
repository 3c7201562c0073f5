package store_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

func mustPut(t *testing.T, k kv.KV, key, value string) int64 {
	t.Helper()
	resp, err := k.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key), Value: []byte(value)}}}})
	if err != nil {
		t.Fatal(err)
	}
	return resp.Revision
}

func mustCount(t *testing.T, k kv.KV, prefix string, want int64) {
	t.Helper()
	resp, err := k.Range(t.Context(), kv.RangeRequest{Key: []byte(prefix), End: kv.PrefixEnd([]byte(prefix)), CountOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Count != want {
		t.Fatalf("%d keys under %s, want %d", resp.Count, prefix, want)
	}
}

// TestRestart starts from a copy of the data folder that was made without a warning, as after a crash, and then from the
// folder itself after an orderly stop: everything acknowledged is there, history and leases included.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	m := start(t, store.Config{DataDir: dir}).waitReady()
	c := dial(t, m)
	first := mustPut(t, c, "/a", "1")
	mustPut(t, c, "/a", "2")
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 25 {
				if _, err := c.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: fmt.Appendf(nil, "/many/%d-%d", w, i)}}}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := m.Node().TakeSnapshot(); err != nil {
		t.Fatal(err)
	}
	l, err := c.LeaseGrant(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	last := mustPut(t, c, "/a", "3")

	check := func(dir string) {
		m := start(t, store.Config{DataDir: dir}).waitReady()
		defer m.stop()
		k := m.KV()
		mustCount(t, k, "/many/", 200)
		if rev, err := k.Revision(t.Context()); err != nil || rev != last {
			t.Fatalf("revision %d (%v), want %d", rev, err, last)
		}
		if r, err := k.Range(t.Context(), kv.RangeRequest{Key: []byte("/a"), Revision: first}); err != nil || string(r.KVs[0].Value) != "1" {
			t.Fatalf("history is gone: %v", err)
		}
		w, err := k.Watch(t.Context(), kv.WatchRequest{Key: []byte("/a"), StartRevision: first})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		var got string
		for len(got) < 3 {
			resp, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range resp.Events {
				got += string(e.KV.Value)
			}
		}
		if got != "123" {
			t.Fatalf("the watch saw %q", got)
		}
		if _, err := k.LeaseKeepAlive(t.Context(), l.ID); err != nil {
			t.Fatalf("the lease is gone: %v", err)
		}
	}
	crashed := t.TempDir()
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	check(crashed)
	m.stop()
	check(dir)
}

func TestBackupAndRestore(t *testing.T) {
	m := start(t, store.Config{}).waitReady()
	c := dial(t, m)
	mustPut(t, c, "/kept", "1")
	var backup strings.Builder
	if err := m.Node().WriteSnapshot(&backup); err != nil {
		t.Fatal(err)
	}
	last := mustPut(t, c, "/later", "1")
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/later")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	rev, err := m.Node().Restore(t.Context(), strings.NewReader(backup.String()))
	if err != nil {
		t.Fatal(err)
	}
	if rev <= last {
		t.Fatalf("revision %d after a restore is not above %d", rev, last)
	}
	var expired *kv.ExpiredError
	if _, err := w.Next(t.Context()); !errors.As(err, &expired) {
		t.Fatalf("an open watch got %v, want its expiry", err)
	}
	if _, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/later"), StartRevision: last}); !errors.Is(err, kv.ErrCompacted) {
		t.Fatalf("an old resume point got %v, want %v", err, kv.ErrCompacted)
	}
	mustCount(t, c, "/kept", 1)
	mustCount(t, c, "/later", 0)
	if got := mustPut(t, c, "/after", "1"); got != rev+1 {
		t.Fatalf("next revision %d, want %d", got, rev+1)
	}
	if _, err := m.Node().Restore(t.Context(), strings.NewReader(backup.String()[:backup.Len()/2])); !errors.Is(err, kv.ErrInvalid) {
		t.Fatalf("half a snapshot got %v", err)
	}
	mustCount(t, c, "/after", 1)
}

func TestDefragmentKeepsServing(t *testing.T) {
	m := start(t, store.Config{}).waitReady()
	c := dial(t, m)
	for i := range 50 {
		mustPut(t, c, fmt.Sprintf("/a/%d", i), strings.Repeat("x", 10_000))
	}
	if _, _, err := m.Node().Defragment(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, c, "/a/last", "x")
	m.stop()
	m = start(t, store.Config{DataDir: m.cfg.DataDir}).waitReady()
	mustCount(t, m.KV(), "/a/", 51)
}

func TestLeaseExpiresThroughTheLog(t *testing.T) {
	clk := testclock.NewFakeClock(time.Unix(1000, 0))
	m := start(t, store.Config{Clock: clk}).waitReady()
	c := dial(t, m)
	l, err := c.LeaseGrant(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/a"), Lease: l.ID}}}}); err != nil {
		t.Fatal(err)
	}
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/a")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	clk.Step(9 * time.Second)
	mustCount(t, c, "/a", 1)
	clk.Step(time.Second)
	resp, err := w.Next(t.Context())
	if err != nil || len(resp.Events) != 1 || resp.Events[0].Type != kv.EventDelete {
		t.Fatalf("got %v, %v; want the deletion of the leased key", resp, err)
	}
	if _, err := c.LeaseKeepAlive(t.Context(), l.ID); !errors.Is(err, kv.ErrLeaseNotFound) {
		t.Fatalf("an expired lease was renewed: %v", err)
	}
}

func TestQuotaAlarm(t *testing.T) {
	m := start(t, store.Config{QuotaBytes: 100_000}).waitReady()
	c := dial(t, m)
	var err error
	for err == nil {
		_, err = c.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte("/a"), Value: make([]byte, 10_000)}}}})
	}
	if !errors.Is(err, kv.ErrNoSpace) {
		t.Fatalf("got %v, want %v", err, kv.ErrNoSpace)
	}
	rev, err := c.Revision(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	if err := m.Node().SetAlarm(t.Context(), raftnode.Alarm{Kind: storev1.AlarmType_ALARM_TYPE_NO_SPACE}, false); err != nil {
		t.Fatal(err)
	}
	mustPut(t, c, "/b", "there is room again")
}

// TestStartErrors: each says what is in the way and what to do.
func TestStartErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	running := start(t, store.Config{}).waitReady()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stopped := start(t, store.Config{Name: "one"}).waitReady()
	stopped.stop()
	for name, c := range map[string]struct {
		cfg  store.Config
		want string
	}{
		"port taken":        {store.Config{DataDir: t.TempDir(), ListenAddr: l.Addr().String()}, "port is taken by another process"},
		"raft port taken":   {store.Config{DataDir: t.TempDir(), RaftAddr: l.Addr().String()}, "port is taken by another process"},
		"bad address":       {store.Config{DataDir: t.TempDir(), ListenAddr: "nowhere"}, "check the address"},
		"folder in use":     {store.Config{DataDir: running.cfg.DataDir}, "in use by another process"},
		"folder below file": {store.Config{DataDir: filepath.Join(file, "x")}, "check the path and its permissions"},
		"no folder":         {store.Config{}, "no data folder"},
		"another's folder":  {store.Config{Name: "two", DataDir: stopped.cfg.DataDir}, `belongs to store member "one"`},
		"not a member":      {store.Config{DataDir: t.TempDir(), InitialMembers: []store.Member{{Name: "x", RaftAddr: "127.0.0.1:1"}}}, "do not include this member"},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Logger = discard
			s, err := store.New(c.cfg)
			if err == nil {
				s.Close()
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %q, want one with %q", err, c.want)
			}
		})
	}
}

// TestDrain: a stopping member ends its watches so that they resume; with open watches it does not wait for them.
func TestDrain(t *testing.T) {
	addr, raftAddr, dir := freeAddr(t), freeAddr(t), t.TempDir()
	cfg := store.Config{DataDir: dir, ListenAddr: addr, RaftAddr: raftAddr, DrainTimeout: time.Hour}
	m := start(t, cfg).waitReady()
	c := dial(t, m)
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/a")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	mustPut(t, c, "/a", "1")
	m.stop() // would take an hour if the watch or the health check held it up
	start(t, cfg).waitReady()
	mustPut(t, c, "/a", "2")
	var got string
	for len(got) < 2 {
		resp, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range resp.Events {
			got += string(e.KV.Value)
		}
	}
	if got != "12" {
		t.Fatalf("the watch saw %q", got)
	}
}

func TestClientWithoutStore(t *testing.T) {
	c, err := client.New(client.Config{Endpoints: []string{freeAddr(t)}, Timeout: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Revision(context.Background())
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "did not answer") {
		t.Fatalf("got %v", err)
	}
}
