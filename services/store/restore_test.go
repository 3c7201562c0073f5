package store_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/backup"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/raftnode"
)

// save makes a snapshot file through the maintenance service.
func save(t *testing.T, c *client.Client) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "store.snapshot")
	_, err := backup.Save(file, func(w io.Writer) error {
		stream, err := c.Maintenance().Snapshot(t.Context(), &storev1.SnapshotRequest{})
		if err != nil {
			return err
		}
		for {
			resp, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if _, err := w.Write(resp.Data); err != nil {
				return err
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func peers(initial []store.Member) (out []raftnode.Peer) {
	for _, m := range initial {
		out = append(out, raftnode.Peer{Name: m.Name, Address: m.RaftAddr})
	}
	return out
}

// TestRestoreMakesANewCluster saves a snapshot of three members, loses them, and makes three new ones of it in their
// place. A client that lived through it and resumes what it did before is told that its revision is gone, lists again, and
// sees what the restored cluster holds: nothing that changed is missed.
func TestRestoreMakesANewCluster(t *testing.T) {
	ms := cluster(t, 3)
	var initial []store.Member
	for _, m := range ms {
		initial = append(initial, store.Member{Name: m.cfg.Name, RaftAddr: m.cfg.RaftAddr})
	}
	c := dial(t, ms[1]) // a follower writes the snapshot
	kept := mustPut(t, c, "/kept", "1")
	for i := range 300 {
		mustPut(t, c, fmt.Sprintf("/many/%d", i), strings.Repeat("x", 5000))
	}
	file := save(t, c)
	mustPut(t, c, "/kept", "lost")
	last := mustPut(t, c, "/lost", "1")
	for _, m := range ms {
		m.stop()
	}

	var fresh []*member
	for _, m := range ms {
		dir := t.TempDir()
		done, err := backup.Restore(file, backup.RestoreOptions{DataDir: dir, Name: m.cfg.Name, Members: peers(initial)})
		if err != nil {
			t.Fatal(err)
		}
		if done.Revision <= last {
			t.Fatalf("the new cluster begins at revision %d, the old one was at %d", done.Revision, last)
		}
		cfg := m.cfg
		cfg.DataDir = dir
		fresh = append(fresh, start(t, cfg))
	}
	for _, m := range fresh {
		m.waitReady()
	}
	c = dial(t, fresh...)
	for _, from := range []int64{kept, last, last + 1} {
		if _, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/"), End: []byte("0"), StartRevision: from}); !errors.Is(err, kv.ErrCompacted) {
			t.Errorf("a watch from revision %d got %v, want %v", from, err, kv.ErrCompacted)
		}
		if _, err := c.Range(t.Context(), kv.RangeRequest{Key: []byte("/kept"), Revision: from}); !errors.Is(err, kv.ErrCompacted) {
			t.Errorf("a read at revision %d got %v, want %v", from, err, kv.ErrCompacted)
		}
	}
	list, err := c.Range(t.Context(), kv.RangeRequest{Key: []byte("/"), End: []byte("0"), KeysOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if list.Count != 301 || list.Revision <= last {
		t.Fatalf("%d keys at revision %d", list.Count, list.Revision)
	}
	w, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/"), End: []byte("0"), StartRevision: list.Revision + 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	next := mustPut(t, c, "/kept", "2")
	if resp, err := w.Next(t.Context()); err != nil || resp.Revision != next || len(resp.Events) != 1 {
		t.Fatalf("got %+v, %v; want the write at %d", resp, err, next)
	}
	if a, b := fresh[0].Node().ClusterID(), ms[0].Node().ClusterID(); a == b || a != fresh[2].Node().ClusterID() {
		t.Fatalf("cluster %x after %x: members of both could talk to each other", a, b)
	}
}

// TestOldMembersDoNotTakeOver: a new cluster of one was made in the place of a member whose two peers are alive. They have
// a majority, a later term and the longer log; the new cluster must not hear them.
func TestOldMembersDoNotTakeOver(t *testing.T) {
	ms := cluster(t, 3)
	c := dial(t, ms[0])
	mustPut(t, c, "/old", "1")
	file := save(t, c)
	place := ms[2]
	place.stop()
	mustPut(t, dial(t, ms[0], ms[1]), "/old", "2")

	dir := t.TempDir()
	one := []raftnode.Peer{{Name: place.cfg.Name, Address: place.cfg.RaftAddr}}
	if _, err := backup.Restore(file, backup.RestoreOptions{DataDir: dir, Name: place.cfg.Name, Members: one}); err != nil {
		t.Fatal(err)
	}
	fresh := start(t, store.Config{Name: place.cfg.Name, DataDir: dir, RaftAddr: place.cfg.RaftAddr}).waitReady()
	mustPut(t, fresh.KV(), "/new", "1")
	// The old leader has tried the new member by the time that it has committed this, on the connection for its entries.
	last := mustPut(t, dial(t, ms[0], ms[1]), "/old", "3")
	mustCount(t, ms[0].KV(), "/new", 0)
	for i := range 20 {
		mustPut(t, fresh.KV(), fmt.Sprintf("/new/%d", i), "")
		mustPut(t, ms[0].KV(), fmt.Sprintf("/old/%d", i), "")
	}
	mustCount(t, fresh.KV(), "/old/", 0)
	if r, err := fresh.KV().Range(t.Context(), kv.RangeRequest{Key: []byte("/old")}); err != nil || string(r.KVs[0].Value) != "1" {
		t.Fatalf("the new cluster holds %+v (%v) of revision %d of the old one", r, err, last)
	}
	if members, err := fresh.Node().Members(); err != nil || len(members) != 1 || !fresh.Node().IsLeader() {
		t.Fatalf("the new cluster has members %v (%v)", members, err)
	}
}

// TestInterruptedRestore: a folder that a restore did not finish is refused, and says so, by the store and by a restore.
func TestInterruptedRestore(t *testing.T) {
	file := save(t, dial(t, start(t, store.Config{}).waitReady()))
	dir := t.TempDir()
	one := []raftnode.Peer{{Name: "a", Address: "127.0.0.1:1"}}
	if _, err := backup.Restore(file, backup.RestoreOptions{DataDir: dir, Name: "a", Members: one}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "unfinished"), []byte("a restore of this folder was begun and did not end: remove everything in the folder and restore again\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := store.New(store.Config{Name: "a", DataDir: dir, Logger: discard}); err == nil || !strings.Contains(err.Error(), "restore again") {
		if s != nil {
			s.Close()
		}
		t.Errorf("the store got %v", err)
	}
	if _, err := backup.Restore(file, backup.RestoreOptions{DataDir: dir, Name: "a", Members: one}); err == nil || !strings.Contains(err.Error(), "half-made") {
		t.Errorf("a second restore got %v", err)
	}
}

// TestOnlineRestoreOnAnyMember sends a snapshot to a follower, which passes it on.
func TestOnlineRestoreOnAnyMember(t *testing.T) {
	ms := cluster(t, 3)
	c := dial(t, ms[1])
	mustPut(t, c, "/kept", "1")
	data, err := os.ReadFile(save(t, c))
	if err != nil {
		t.Fatal(err)
	}
	last := mustPut(t, c, "/lost", "1")
	send := func(data []byte) (*storev1.RestoreResponse, error) {
		stream, err := c.Maintenance().Restore(t.Context())
		if err != nil {
			return nil, err
		}
		for len(data) > 0 {
			n := min(len(data), 64)
			if err := stream.Send(&storev1.RestoreRequest{Data: data[:n]}); err != nil {
				break
			}
			data = data[n:]
		}
		return stream.CloseAndRecv()
	}
	if _, err := send(data[:len(data)-1]); err == nil || !strings.Contains(err.Error(), "damaged or incomplete") {
		t.Fatalf("a snapshot that ends early got %v", err)
	}
	mustCount(t, c, "/lost", 1)
	resp, err := send(data)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Revision <= last {
		t.Fatalf("revision %d after a restore is not above %d", resp.Revision, last)
	}
	for _, m := range ms {
		mustCount(t, m.KV(), "/kept", 1)
		mustCount(t, m.KV(), "/lost", 0)
	}
}
