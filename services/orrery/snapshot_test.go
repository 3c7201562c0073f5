package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/store/kv"
)

// copyPair gives a certificate another name in another folder.
func copyPair(t *testing.T, from, name, to, as string) {
	t.Helper()
	for src, dst := range map[string]string{
		pki.Open(from).CAFile(): pki.Open(to).CAFile(), pki.Open(from).CertFile(name): pki.Open(to).CertFile(as), pki.Open(from).KeyFile(name): pki.Open(to).KeyFile(as),
	} {
		data, err := os.ReadFile(src)
		if err == nil {
			err = os.WriteFile(dst, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestSnapshot saves a snapshot under writers, loses all members, refuses the file when it is damaged, and makes three new
// members of it.
func TestSnapshot(t *testing.T) {
	f := newFleet(t)
	f.three()
	c := f.client("a", "b", "c")
	kept := f.put(c, "/kept", "1")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wrote := make(chan int64, 1)
	for w := range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				resp, err := c.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: fmt.Appendf(nil, "/load/%d/%d", w, i), Value: make([]byte, 2000)}}}})
				if err == nil {
					select {
					case wrote <- resp.Revision:
					default:
					}
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	for <-wrote < 200 {
	}
	file := filepath.Join(f.dir, "store.snapshot")
	out := f.ok(f.at([]string{"a"}, "snapshot", "save", file)...)
	stop()
	wg.Wait()
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	if !strings.Contains(words(out), "checksums all correct written by") {
		t.Errorf("save printed\n%s", out)
	}
	status := f.ok("snapshot", "status", file)
	if !strings.HasPrefix(words(out), words(status)) {
		t.Errorf("status printed\n%s, save\n%s", status, out)
	}
	last := f.put(c, "/lost", "1")

	// In place: the running store goes back, and says so to who watches.
	f.fails([]string{"--yes"}, f.at([]string{"b"}, "snapshot", "load", file)...)
	f.ok(f.at([]string{"b"}, "snapshot", "load", file, "--yes")...)
	f.fails([]string{"no such key"}, f.at([]string{"c"}, "get", "/lost")...)
	if _, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/kept"), StartRevision: last}); !errors.Is(err, kv.ErrCompacted) {
		t.Errorf("an old watch got %v, want %v", err, kv.ErrCompacted)
	}

	// From nothing.
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	damaged := filepath.Join(f.dir, "damaged.snapshot")
	if err := os.WriteFile(damaged, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	var flags string
	for _, p := range f.members {
		p.kill()
	}
	flags = f.initial("a", "b", "c")
	for name, p := range f.members {
		f.fails([]string{"not empty", "move that away"}, "snapshot", "restore", file, "--data-dir", p.dir, "--name", name, flags)
		if err := os.RemoveAll(p.dir); err != nil {
			t.Fatal(err)
		}
		f.fails([]string{"damaged or incomplete: frame", "at byte", "take another backup"}, "snapshot", "restore", damaged, "--data-dir", p.dir, "--name", name, flags)
		f.ok("snapshot", "restore", file, "--data-dir", p.dir, "--name", name, flags)
	}
	f.fails([]string{damaged, "frame", "at byte"}, "snapshot", "status", damaged)
	for _, p := range f.members {
		p.start(flags)
	}
	for _, p := range f.members {
		p.ready()
	}
	if out := f.ok(f.at([]string{"c"}, "get", "/kept")...); out != "/kept\n1\n" {
		t.Errorf("got %q", out)
	}
	c = f.client("a", "b", "c")
	if _, err := c.Watch(t.Context(), kv.WatchRequest{Key: []byte("/kept"), StartRevision: kept}); !errors.Is(err, kv.ErrCompacted) {
		t.Errorf("an old watch got %v, want %v", err, kv.ErrCompacted)
	}
	if next := f.put(c, "/kept", "2"); next <= last {
		t.Errorf("revision %d after %d", next, last)
	}
}

// TestLostQuorum loses two of three members for good and goes on with the one that is left. When the lost ones come back
// with what they had, they are not let in.
func TestLostQuorum(t *testing.T) {
	f := newFleet(t)
	f.three()
	f.put(f.client("a", "b", "c"), "/kept", "1")
	f.ok(f.at([]string{"a"}, "get", "/kept")...) // what only b and c had would be lost with them
	f.members["b"].kill()
	f.members["c"].kill()

	for f.list("a")["a"].Healthy { // it takes a moment to miss them
	}
	out := f.ok(f.at([]string{"a"}, "members", "status")...)
	for _, want := range []string{"a: it knows of no leader", "b: connection refused", "c: connection refused", "members recover"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	f.fails([]string{"members status", "--consistency=s"}, f.at([]string{"a"}, "get", "/kept")...)
	if out := f.ok(f.at([]string{"a"}, "get", "/kept", "--consistency=s")...); out != "/kept\n1\n" {
		t.Errorf("got %q", out)
	}
	f.fails([]string{`member "a"`, "no leader", "--consistency=s"}, f.at([]string{"a"}, "snapshot", "save", filepath.Join(f.dir, "x"))...)
	f.ok(f.at([]string{"a"}, "snapshot", "save", filepath.Join(f.dir, "last.snapshot"), "--consistency=s")...)

	a := f.members["a"]
	f.fails([]string{"in use by another process"}, "members", "recover", "--data-dir", a.dir, "--yes")
	a.kill()
	if out := f.fails([]string{"nothing was changed", "--yes"}, "members", "recover", "--data-dir", a.dir); !strings.Contains(out, "a, b, c") {
		t.Errorf("recover shows\n%s", out)
	}
	copied := filepath.Join(f.dir, "copy")
	f.ok("members", "recover", "--data-dir", a.dir, "--copy-to", copied, "--yes")
	a.start().ready()
	if out := f.ok(f.at([]string{"a"}, "get", "/kept")...); out != "/kept\n1\n" {
		t.Errorf("got %q", out)
	}
	f.put(f.client("a"), "/after", "1")

	// The lost ones come back: they elect a leader of their own, and it does not reach this cluster.
	flags := f.initial("a", "b", "c")
	f.members["b"].start(flags)
	f.members["c"].start(flags)
	f.members["b"].ready()
	f.members["c"].ready()
	f.put(f.client("b", "c"), "/other", "1")
	f.fails([]string{"no such key"}, f.at([]string{"a"}, "get", "/other")...)
	if ms := f.list("a"); len(ms) != 1 || !ms["a"].Leader {
		t.Errorf("members %+v", ms)
	}
	// Emptied and added anew, they are.
	b := f.members["b"]
	b.kill()
	f.members["c"].kill()
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	f.join(b, f.ok(f.at([]string{"a"}, "members", "add", "b", b.raft, "-o", "json")...))
	if out := f.ok(f.at([]string{"b"}, "get", "/after")...); out != "/after\n1\n" {
		t.Errorf("got %q", out)
	}
	// The copy is the folder as it was.
	if out := f.fails([]string{"nothing was changed"}, "members", "recover", "--data-dir", copied); !strings.Contains(out, "a, b, c") {
		t.Errorf("the copy shows\n%s", out)
	}
}
