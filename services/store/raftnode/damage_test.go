package raftnode

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/store/kv"
)

var discard = slog.New(slog.DiscardHandler)

// openAlone opens a cluster of one in dir.
func openAlone(dir string, kind LogStore) (*Node, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return Open(Config{Name: "one", DataDir: dir, LogStore: kind, Listener: l, AdvertiseAddr: "127.0.0.1:1", Logger: discard, SnapshotEntries: 1 << 20, TrailingEntries: 20})
}

func put(t *testing.T, n *Node, key string, value []byte) {
	t.Helper()
	if _, err := n.Txn(t.Context(), kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: []byte(key), Value: value}}}}); err != nil {
		t.Fatal(err)
	}
}

const damageKeys = 60

// fill makes a data folder with two snapshots and entries behind them.
func fill(t *testing.T, dir string, kind LogStore) {
	t.Helper()
	n, err := openAlone(dir, kind)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range damageKeys {
		value := make([]byte, r.IntN(3000))
		for j := range value {
			value[j] = byte(i + 1)
		}
		put(t, n, fmt.Sprintf("/k/%d", i), value)
		if i == 20 || i == 40 {
			if err := n.TakeSnapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// whole opens a folder and reports whether it has everything; an error is that of a folder that is refused.
func whole(t *testing.T, dir string, kind LogStore) error {
	t.Helper()
	n, err := openAlone(dir, kind)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	resp, err := n.Range(t.Context(), kv.RangeRequest{Key: []byte("/k/"), End: kv.PrefixEnd([]byte("/k/"))})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.KVs) != damageKeys {
		t.Errorf("%d keys of %d are there", len(resp.KVs), damageKeys)
	}
	for _, x := range resp.KVs {
		var i int
		if _, err := fmt.Sscanf(string(x.Key), "/k/%d", &i); err != nil || len(bytes.Trim(x.Value, string([]byte{byte(i + 1)}))) > 0 {
			t.Errorf("%s has a wrong value", x.Key)
		}
	}
	return nil
}

// TestDamage changes each file of a data folder at many places: the member has everything, or refuses and names the file.
func TestDamage(t *testing.T) {
	for _, kind := range []LogStore{LogBolt, LogWAL} {
		t.Run(string(kind), func(t *testing.T) {
			origin := t.TempDir()
			fill(t, origin, kind)
			if err := whole(t, origin, kind); err != nil { // also in the state of a member that was started again
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(3, 4))
			refused, fine := 0, 0
			err := filepath.WalkDir(origin, func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() || e.Name() == lockFile {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				used := len(bytes.TrimRight(data, "\x00"))
				for name, change := range damages(data, used, r) {
					changed := change(bytes.Clone(data))
					dir := t.TempDir()
					if err := os.CopyFS(dir, os.DirFS(origin)); err != nil {
						return err
					}
					rel, err := filepath.Rel(origin, path)
					if err != nil {
						return err
					}
					if err := os.WriteFile(filepath.Join(dir, rel), changed, 0o600); err != nil {
						return err
					}
					switch err := whole(t, dir, kind); {
					case err == nil:
						fine++
					case !strings.Contains(err.Error(), filepath.Join(dir, filepath.Dir(rel))):
						t.Errorf("%s, %s: refused without naming the file: %v", rel, name, err)
					default:
						refused++
					}
					if t.Failed() {
						t.Fatalf("%s, %s", rel, name)
					}
					os.RemoveAll(dir)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d refused, %d fine", refused, fine)
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
}

// damages are ways to change a file whose first bytes, used of them, matter.
func damages(data []byte, used int, r *rand.Rand) map[string]func([]byte) []byte {
	out := map[string]func([]byte) []byte{
		"empty": func([]byte) []byte { return nil },
		"half":  func(d []byte) []byte { return d[:used/2] },
	}
	for range 5 {
		at, bit := r.IntN(max(used, 1)), r.IntN(8)
		out[fmt.Sprintf("bit %d of byte %d", bit, at)] = func(d []byte) []byte {
			if len(d) > at {
				d[at] ^= 1 << bit
			}
			return d
		}
	}
	return out
}

// TestLeftovers: what a crash left half-written is removed at start.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, LogBolt)
	left := []string{logFile + ".new", restorePrefix + "1", filepath.Join(snapshotDir, "2-9-9.tmp", "state.bin")}
	for _, name := range left {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := whole(t, dir, LogBolt); err != nil {
		t.Fatal(err)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left (%v)", name, err)
		}
	}
}

// TestOtherLogStore: a folder keeps the kind of log that it has.
func TestOtherLogStore(t *testing.T) {
	dir := t.TempDir()
	n, err := openAlone(dir, LogWAL)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := openAlone(dir, LogBolt); err == nil || !strings.Contains(err.Error(), "--log-store wal") {
		t.Errorf("opened as boltdb: %v", err)
	}
	if n, err = openAlone(dir, ""); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedSnapshotLosesNothing: when the log reaches back to the snapshot before, a damaged one is put aside.
func TestDamagedSnapshotLosesNothing(t *testing.T) {
	dir := t.TempDir()
	fill(t, dir, LogBolt)
	s, err := openSnapshots(dir, discard)
	if err != nil {
		t.Fatal(err)
	}
	names, err := s.names()
	if err != nil || len(names) != 2 {
		t.Fatalf("snapshots %v, %v", names, err)
	}
	state := func(i int) string { return filepath.Join(dir, snapshotDir, names[i].name, "state.bin") }
	data, err := os.ReadFile(state(0))
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(state(0), data, 0o600); err != nil {
		t.Fatal(err)
	}
	// 20 entries stay behind a snapshot, and there are 20 between the two.
	if err := whole(t, dir, LogBolt); err != nil {
		t.Fatalf("a start from the older snapshot and the log: %v", err)
	}
	if err := os.Truncate(state(1), 10); err != nil {
		t.Fatal(err)
	}
	if err := whole(t, dir, LogBolt); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), names[1].name) {
		t.Fatalf("a start without a snapshot: %v", err)
	}
}
