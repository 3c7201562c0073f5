package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// TestRecoverFromLostQuorum makes a cluster of one of three members: it has all that was acknowledged, goes on above the
// revisions that it knew, and lets nobody resume across the gap.
func TestRecoverFromLostQuorum(t *testing.T) {
	for _, kind := range []raftnode.LogStore{raftnode.LogBolt, raftnode.LogWAL} {
		t.Run(string(kind), func(t *testing.T) {
			ms := clusterOf(t, 3, store.Config{LogStore: kind})
			c := dial(t, ms...)
			mustPut(t, c, "/a", "1")
			if err := ms[2].Node().TakeSnapshot(); err != nil {
				t.Fatal(err)
			}
			last := mustPut(t, c, "/a", "2")
			mustCount(t, ms[2].KV(), "/a", 1) // has it too
			for _, m := range ms {
				m.stop()
			}
			left := ms[2].cfg
			got, err := raftnode.Recover(raftnode.RecoverConfig{Name: left.Name, DataDir: left.DataDir})
			if err != nil {
				t.Fatal(err)
			}
			if got.Revision <= last || got.Keys != 1 || got.AdvertiseAddr != left.RaftAddr {
				t.Errorf("recovered %+v, want a revision above %d, 1 key and the address %s", got, last, left.RaftAddr)
			}
			left.InitialMembers = nil
			m := start(t, left).waitReady()
			k := m.KV()
			r, err := k.Range(t.Context(), kv.RangeRequest{Key: []byte("/a")})
			if err != nil || len(r.KVs) != 1 || string(r.KVs[0].Value) != "2" {
				t.Fatalf("read %v, %v", r, err)
			}
			if _, err := k.Watch(t.Context(), kv.WatchRequest{Key: []byte("/a"), StartRevision: last}); !errors.Is(err, kv.ErrCompacted) {
				t.Fatalf("a watch from before the recovery: %v, want %v", err, kv.ErrCompacted)
			}
			mustPut(t, k, "/b", "1")
			members, err := m.Node().Members()
			if err != nil || len(members) != 1 {
				t.Fatalf("members %v, %v", members, err)
			}
			m.stop()
			start(t, left).waitReady().stop()
		})
	}
}

func TestRecoverRefuses(t *testing.T) {
	m := start(t, store.Config{Name: "one"}).waitReady()
	for name, c := range map[string]struct {
		cfg  raftnode.RecoverConfig
		want string
	}{
		"in use":     {raftnode.RecoverConfig{Name: "one", DataDir: m.cfg.DataDir}, "in use by another process"},
		"empty":      {raftnode.RecoverConfig{Name: "one", DataDir: t.TempDir()}, "nothing to recover"},
		"a name":     {raftnode.RecoverConfig{DataDir: t.TempDir()}, "no name"},
		"stranger's": {raftnode.RecoverConfig{Name: "two", DataDir: m.cfg.DataDir}, `belongs to store member "one"`},
	} {
		if _, err := raftnode.Recover(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
}
