package raftnode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"
)

func TestMain(m *testing.M) {
	walSegment = 1 << 20
	os.Exit(m.Run())
}

func entries(from, to uint64, size int) []*raft.Log {
	var out []*raft.Log
	for i := from; i <= to; i++ {
		out = append(out, &raft.Log{Index: i, Term: 1, Data: bytes.Repeat([]byte{byte(i)}, size)})
	}
	return out
}

func newDisk(tb testing.TB, dir string, kind LogStore) *disk {
	tb.Helper()
	d, err := openDisk(dir, kind, false, clock.RealClock{}, newRaftLogger(discard))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestLogStores: both kinds keep what Raft asks them to, over a restart, with the end of the log replaced, with old entries
// deleted, with the log begun anew behind a snapshot.
func TestLogStores(t *testing.T) {
	for _, kind := range []LogStore{LogBolt, LogWAL} {
		t.Run(string(kind), func(t *testing.T) {
			dir := t.TempDir()
			d := newDisk(t, dir, kind)
			again := func() {
				t.Helper()
				if err := d.Close(); err != nil {
					t.Fatal(err)
				}
				d = newDisk(t, dir, kind)
			}
			check := func(first, last uint64) {
				t.Helper()
				f, errF := d.FirstIndex()
				l, errL := d.LastIndex()
				if f != first || l != last || errF != nil || errL != nil {
					t.Fatalf("entries %d to %d (%v, %v), want %d to %d", f, l, errF, errL, first, last)
				}
				for i := first; i <= last && first > 0; i++ {
					var got raft.Log
					if err := d.read(i, &got); err != nil || got.Index != i || len(got.Data) == 0 || got.Data[0] != byte(i) {
						t.Fatalf("entry %d: %v, %v", i, got, err)
					}
				}
				var got raft.Log
				if err := d.GetLog(last+1, &got); !errors.Is(err, raft.ErrLogNotFound) {
					t.Fatalf("an entry behind the last: %v", err)
				}
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			must(d.SetUint64([]byte(keyCurrentTerm), 7))
			must(d.SetUint64([]byte(keyLastVoteTerm), 7))
			must(d.Set([]byte(keyLastVoteCand), []byte("somebody")))
			check(0, 0)
			must(d.StoreLogs(entries(1, 100, 1000)))
			check(1, 100)
			again()
			check(1, 100)
			must(d.DeleteRange(80, 100))
			check(1, 79)
			again()
			check(1, 79)
			must(d.StoreLogs(entries(80, 90, 50_000)))
			must(d.StoreLogs(entries(91, 200, 50_000))) // over the end of a segment
			check(1, 200)
			must(d.DeleteRange(1, 70))
			check(71, 200)
			again()
			must(d.defragment())
			check(71, 200)
			must(d.DeleteRange(71, 200))
			check(0, 0)
			must(d.StoreLogs(entries(500, 510, 10)))
			again()
			check(500, 510)
			term, err := d.GetUint64([]byte(keyLastVoteTerm))
			who, err2 := d.Get([]byte(keyLastVoteCand))
			if current, err3 := d.GetUint64([]byte(keyCurrentTerm)); term != 7 || string(who) != "somebody" || current != 7 || errors.Join(err, err2, err3) != nil {
				t.Fatalf("vote for %q in term %d, term %d", who, term, current)
			}
			must(d.Close())
		})
	}
}

// TestKeptEntries: old entries that a follower needs are not deleted.
func TestKeptEntries(t *testing.T) {
	d := newDisk(t, t.TempDir(), LogBolt)
	defer d.Close()
	if err := d.StoreLogs(entries(1, 100, 10)); err != nil {
		t.Fatal(err)
	}
	keep := uint64(40)
	d.keepFrom = func(uint64) (uint64, bool) { return keep, true }
	for _, want := range []uint64{40, 40, 71} {
		if want == 71 {
			keep = 90
		}
		if err := d.DeleteRange(1, 70); err != nil {
			t.Fatal(err)
		}
		if first, err := d.FirstIndex(); err != nil || first != want {
			t.Fatalf("the log begins with %d, want %d (%v)", first, want, err)
		}
	}
}

func TestLogCacheIsBounded(t *testing.T) {
	var c logCache
	for i := uint64(1); i <= 100; i++ {
		c.add(entries(i, i, 1<<20))
	}
	if c.bytes > logCacheBytes || c.next-c.first < 4 {
		t.Errorf("%d bytes in %d entries", c.bytes, c.next-c.first)
	}
	for i := uint64(101); i <= 2000; i++ {
		c.add(entries(i, i, 1))
	}
	if n := c.next - c.first; n != logCacheEntries {
		t.Errorf("%d small entries, want %d", n, logCacheEntries)
	}
	var l raft.Log
	if !c.get(2000, &l) || l.Index != 2000 || c.get(1, &l) || c.get(2001, &l) {
		t.Error("wrong entries are in the cache")
	}
	c.deleted(1, 1990)
	if c.get(1990, &l) || !c.get(1991, &l) {
		t.Error("the oldest ten should have gone")
	}
	c.deleted(1995, 2000)
	if c.get(1994, &l) {
		t.Error("all should have gone with the end")
	}
}

// brokenStore fails its writes.
type brokenStore struct {
	logStore
	err error
}

func (s *brokenStore) StoreLogs([]*raft.Log) error { return s.err }

// TestFailedWriteIsFinal: after one write that failed nothing is written again, whatever the disk says later.
func TestFailedWriteIsFinal(t *testing.T) {
	d := newDisk(t, t.TempDir(), LogBolt)
	defer d.Close()
	inner := d.store
	defer func() { d.store = inner }()
	var told []error
	d.onFailure = func(err error) { told = append(told, err) }
	d.store = &brokenStore{inner, fmt.Errorf("write: %w", syscall.ENOSPC)}
	if err := d.StoreLogs(entries(1, 1, 10)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	d.store = inner
	if d.StoreLogs(entries(1, 1, 10)) == nil || d.Set([]byte("k"), nil) == nil || d.DeleteRange(1, 1) == nil || d.defragment() == nil {
		t.Error("a write went on after a failed one")
	}
	if err := d.SetUint64([]byte(keyCurrentTerm), 9); err != nil {
		t.Errorf("Raft would panic: %v", err)
	}
	if len(told) != 1 {
		t.Errorf("told %v", told)
	}
}

// TestInterruptedRotation: a crash between the end of a segment and the beginning of the next is finished at start.
func TestInterruptedRotation(t *testing.T) {
	dir := t.TempDir()
	d := newDisk(t, dir, LogWAL)
	before, err := loadWALMeta(filepath.Join(dir, walDir), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.StoreLogs(entries(1, 70, 50_000)); err != nil { // fills the first segment
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := before.save(); err != nil { // as if the list had not been written
		t.Fatal(err)
	}
	d = newDisk(t, dir, LogWAL)
	if err := d.StoreLogs(entries(71, 72, 10)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d = newDisk(t, dir, LogWAL)
	defer d.Close()
	if first, err := d.FirstIndex(); err != nil || first != 1 {
		t.Fatal(first, err)
	}
	if err := d.SetUint64([]byte(keyCurrentTerm), 1); err != nil {
		t.Fatal(err)
	}
	if err := d.verify(0); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkAppend measures both kinds with entries of 1 KB, one and 64 to a write.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range []LogStore{LogBolt, LogWAL} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/%d", kind, batch), func(b *testing.B) {
				d := newDisk(b, b.TempDir(), kind)
				defer d.Close()
				b.SetBytes(int64(batch) << 10)
				next := uint64(1)
				for b.Loop() {
					if err := d.StoreLogs(entries(next, next+uint64(batch)-1, 1<<10)); err != nil {
						b.Fatal(err)
					}
					next += uint64(batch)
				}
			})
		}
	}
}
