package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store/backup"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/mvcc"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// content streams a snapshot of n keys.
func content(t *testing.T, n int) func(io.Writer) error {
	t.Helper()
	s := mvcc.New()
	for i := range n {
		put := &kv.PutRequest{Key: fmt.Appendf(nil, "/k/%03d", i), Value: []byte(strings.Repeat("v", 3000))}
		if _, err := s.Txn(&kv.TxnRequest{Then: []kv.Op{{Put: put}}}, 0); err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot().Write
}

// backupLosses are the ways to crash; every moment is tried with each.
func backupLosses() []disk.Loss {
	return []disk.Loss{{Mode: disk.Keep}, {Mode: disk.Drop}, {Mode: disk.Tear, Seed: *seed}, {Mode: disk.Tear, Seed: *seed + 1_000_000}}
}

// TestSavedSnapshot crashes at each operation of saving a snapshot in the place of an older one: one of the two is there whole,
// and the new one once it was said to be.
func TestSavedSnapshot(t *testing.T) {
	fs, err := faultfs.Mount(filepath.Join(t.TempDir(), "disk"), faultfs.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	file := filepath.Join(fs.Dir(), "store.snapshot")
	older, err := backup.Save(file, content(t, 100))
	if err != nil {
		t.Fatal(err)
	}
	begin, err := fs.Count()
	if err != nil {
		t.Fatal(err)
	}
	newer, err := backup.Save(file, content(t, 200))
	if err != nil {
		t.Fatal(err)
	}
	rec, err := fs.Recording()
	if err != nil {
		t.Fatal(err)
	}
	rec.Marks = nil // they are events of the workload elsewhere
	tried := 0
	moments(t, rec, false, 1<<30, backupLosses(), func(m moment) bool {
		if m.after < begin {
			return true
		}
		tried++
		dir := filepath.Join(t.TempDir(), "disk")
		defer os.RemoveAll(dir)
		if err := m.disk.Save(dir); err != nil {
			t.Fatal(err)
		}
		info, err := backup.Inspect(filepath.Join(dir, "store.snapshot"))
		switch {
		case err != nil:
			t.Errorf("%v: %v", m.String(), err)
		case m.after == len(rec.Ops) && info.SHA256 != newer.SHA256:
			t.Errorf("%v: the snapshot that was saved is not there", m.String())
		case info.SHA256 != older.SHA256 && info.SHA256 != newer.SHA256:
			t.Errorf("%v: another snapshot is there", m.String())
		}
		return true
	})
	t.Logf("%d operations, %d moments tried", len(rec.Ops)-begin, tried)
}

// restored says whether a store has the keys of a snapshot.
type restored int

func (n restored) check(ctx context.Context, c *client.Client) error {
	resp, err := c.Range(ctx, kv.RangeRequest{Key: []byte("/k/"), End: kv.PrefixEnd([]byte("/k/")), CountOnly: true})
	if err != nil {
		return err
	}
	if resp.Count != int64(n) {
		return fmt.Errorf("it has %d of %d keys", resp.Count, n)
	}
	return nil
}

// TestRestoredFolder crashes at each operation of making a data folder from a snapshot: a member has all of it or refuses the
// folder, and has it once it was said to be there.
func TestRestoredFolder(t *testing.T) {
	fs, err := faultfs.Mount(filepath.Join(t.TempDir(), "disk"), faultfs.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	defer fs.Close()
	const keys = 100
	file := filepath.Join(t.TempDir(), "store.snapshot")
	if _, err := backup.Save(file, content(t, keys)); err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Restore(file, backup.RestoreOptions{DataDir: filepath.Join(fs.Dir(), "data"), Name: "one", Members: seedMembers()}); err != nil {
		t.Fatal(err)
	}
	rec, err := fs.Recording()
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{t: t}
	tried, refused := 0, 0
	moments(t, rec, false, 1<<30, backupLosses(), func(m moment) bool {
		tried++
		dir := filepath.Join(t.TempDir(), "disk")
		defer os.RemoveAll(dir)
		if err := m.disk.Save(dir); err != nil {
			t.Fatal(err)
		}
		done := m.after == len(rec.Ops)
		begun := slices.DeleteFunc(filesOf(t, dir), func(f string) bool { return f == "data/unfinished.new" })
		if len(begun) == 0 && !done {
			return true // nothing was begun: a member starts as a new one
		}
		err := c.open(t.Context(), memberConfig{Name: "one", Dir: filepath.Join(dir, "data")}, restored(keys))
		switch {
		case err == nil:
		case !done && !errors.Is(err, errGone) && strings.Contains(err.Error(), "restore again"):
			refused++
		default:
			t.Errorf("%v: %v", m.String(), err)
		}
		return true
	})
	t.Logf("%d operations, %d moments tried, %d refused", len(rec.Ops), tried, refused)
}

func seedMembers() []raftnode.Peer { return []raftnode.Peer{{Name: "one", Address: "127.0.0.1:1"}} }
