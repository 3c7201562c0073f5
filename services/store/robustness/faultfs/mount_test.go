package faultfs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// scribbleFile makes this program one that appends numbered lines to a file, syncs each and then says its number.
const scribbleFile = "ORRERY_TEST_SCRIBBLE"

func TestMain(m *testing.M) {
	faultfs.Main()
	if path := os.Getenv(scribbleFile); path != "" {
		scribble(path)
	}
	os.Exit(m.Run())
}

func scribble(path string) {
	f, err := os.Create(path)
	for i := 1; err == nil; i++ {
		if _, err = fmt.Fprintln(f, i); err == nil {
			err = f.Sync()
		}
		if err == nil {
			fmt.Println(i)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func mount(t *testing.T, opts faultfs.Options) *faultfs.FS {
	t.Helper()
	fs, err := faultfs.Mount(filepath.Join(t.TempDir(), "disk"), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fs.Close(); err != nil {
			t.Error(err)
		}
		if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte(fs.Dir())) {
			t.Errorf("%s is still mounted (%v)", fs.Dir(), err)
		}
	})
	return fs
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// scribbler starts the program; lines are the numbers it says.
func scribbler(t *testing.T, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), scribbleFile+"="+path)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func TestOrdinaryUse(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	dir := filepath.Join(fs.Dir(), "a", "b")
	must(t, os.MkdirAll(dir, 0o700))
	for i := range 300 {
		must(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), bytes.Repeat([]byte{byte(i)}, i*100), 0o600))
	}
	must(t, os.Rename(filepath.Join(dir, "7"), filepath.Join(fs.Dir(), "seven")))
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 299 {
		t.Fatalf("%d names, %v", len(list), err)
	}
	data, err := os.ReadFile(filepath.Join(fs.Dir(), "seven"))
	if err != nil || !bytes.Equal(data, bytes.Repeat([]byte{7}, 700)) {
		t.Fatalf("the file that was renamed has %d bytes, %v", len(data), err)
	}
	must(t, os.RemoveAll(filepath.Join(fs.Dir(), "a")))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(fs.Dir(), "unlinked"))
	must(t, err)
	defer f.Close()
	must(t, os.Remove(f.Name()))
	if _, err := f.WriteString("still here"); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 20)
	if n, err := f.ReadAt(buf, 0); !errors.Is(err, io.EOF) || string(buf[:n]) != "still here" {
		t.Fatalf("%q, %v", buf[:n], err)
	}
}

// TestBolt uses what the store's log needs: locks, a file mapped into memory that shows what is written to it.
func TestBolt(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	path := filepath.Join(fs.Dir(), "db")
	value := bytes.Repeat([]byte("v"), 10_000)
	for round := range 3 {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second})
		must(t, err)
		if _, err := bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Millisecond}); !errors.Is(err, bbolt.ErrTimeout) {
			t.Fatalf("a second lock: %v", err)
		}
		for i := range 20 {
			must(t, db.Update(func(tx *bbolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("b"))
				if err != nil {
					return err
				}
				return b.Put(fmt.Appendf(nil, "%d-%d", round, i), value)
			}))
		}
		must(t, db.View(func(tx *bbolt.Tx) error {
			if n := tx.Bucket([]byte("b")).Stats().KeyN; n != 20*(round+1) {
				t.Fatalf("%d keys in round %d", n, round)
			}
			for err := range tx.Check() {
				t.Error(err)
			}
			return nil
		}))
		must(t, db.Close())
		must(t, fs.Crash(disk.Loss{Mode: disk.Keep}))
	}
}

func TestFailingSync(t *testing.T) {
	for _, drop := range []bool{false, true} {
		t.Run(fmt.Sprintf("drop=%v", drop), func(t *testing.T) {
			fs := mount(t, faultfs.Options{Journaled: true})
			f, err := os.Create(filepath.Join(fs.Dir(), "f"))
			must(t, err)
			defer f.Close()
			_, err = f.WriteString("old")
			must(t, errors.Join(err, f.Sync(), fs.FailSyncs(1, drop)))
			_, err = f.WriteAt([]byte("new"), 0)
			must(t, err)
			if err := f.Sync(); !errors.Is(err, syscall.EIO) {
				t.Fatalf("the first sync got %v", err)
			}
			if err := f.Sync(); err != nil {
				t.Fatalf("the second sync got %v", err)
			}
			must(t, f.Close())
			must(t, fs.Crash(disk.Loss{Mode: disk.Drop}))
			if data, err := os.ReadFile(f.Name()); err != nil || string(data) != "old" {
				t.Fatalf("after the power came back: %q, %v", data, err)
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	f, err := os.Create(filepath.Join(fs.Dir(), "f"))
	must(t, err)
	defer f.Close()
	must(t, fs.SetFree(64<<10))
	n := 0
	for ; err == nil; n++ {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) || n != 17 {
		t.Fatalf("write %d got %v", n, err)
	}
	if _, err := f.WriteAt([]byte("x"), 0); err != nil {
		t.Fatalf("a write into space that the file has got %v", err)
	}
	if err := os.WriteFile(filepath.Join(fs.Dir(), "g"), nil, 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a new file got %v", err)
	}
	must(t, f.Truncate(0)) // makes room
	must(t, os.WriteFile(filepath.Join(fs.Dir(), "g"), make([]byte, 4096), 0o600))
	must(t, fs.SetFree(-1))
	must(t, os.WriteFile(filepath.Join(fs.Dir(), "h"), make([]byte, 1<<20), 0o600))
}

func TestStuckAndSlow(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	f, err := os.Create(filepath.Join(fs.Dir(), "f"))
	must(t, err)
	defer f.Close()
	const delay = 30 * time.Millisecond
	must(t, fs.SetSyncDelay(delay))
	began := time.Now()
	must(t, f.Sync())
	if took := time.Since(began); took < delay {
		t.Fatalf("a slow sync took %v", took)
	}
	must(t, errors.Join(fs.SetSyncDelay(0), fs.SetStuck(true)))
	wrote := make(chan error, 1)
	go func() { _, err := f.WriteString("x"); wrote <- err }()
	victim, lines := scribbler(t, filepath.Join(fs.Dir(), "victim"))
	select {
	case err := <-wrote:
		t.Fatalf("a write went through a stuck disk: %v", err)
	case <-time.After(delay): // not proof, but a fault would show now and then
	}
	must(t, victim.Process.Kill())
	_ = victim.Wait() // it can die
	if lines.Scan() {
		t.Fatalf("the process said %q", lines.Text())
	}
	must(t, fs.SetStuck(false))
	must(t, <-wrote)
}

// TestKillAt kills a process on both sides of an operation: nothing happens after it, and what was synced outlives any crash.
func TestKillAt(t *testing.T) {
	for _, when := range []faultfs.When{faultfs.Before, faultfs.After} {
		for _, mode := range []disk.LossMode{disk.Keep, disk.Drop, disk.Tear} {
			t.Run(fmt.Sprintf("%v, %v", when, mode), func(t *testing.T) {
				fs := mount(t, faultfs.Options{Journaled: true, Record: true})
				path := filepath.Join(fs.Dir(), "f")
				must(t, fs.SetStuck(true)) // until its process is known
				cmd, lines := scribbler(t, path)
				const at = 11 // create, then five pairs of a write and a sync: the fifth sync
				must(t, errors.Join(fs.KillAt(at, when, cmd.Process.Pid), fs.SetStuck(false)))
				said := 0
				for lines.Scan() {
					said++
				}
				if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Fatalf("the process ended with %v", err)
				}
				op, err := fs.WaitKilled(t.Context())
				if err != nil || op.Kind != disk.Sync || op.Path != "/f" || op.N != at {
					t.Fatalf("killed at %v, %v", op.String(), err)
				}
				if said != 4 {
					t.Fatalf("the process said %d lines", said)
				}
				if _, err := os.ReadFile(path); err == nil {
					t.Fatal("the file system goes on")
				}
				must(t, fs.Crash(disk.Loss{Mode: mode, Seed: 1}))
				data, err := os.ReadFile(path)
				must(t, err)
				got := strings.Fields(string(data))
				atLeast := 4
				if when == faultfs.After || mode == disk.Keep {
					atLeast = 5
				}
				if mode == disk.Drop && len(got) != atLeast || mode != disk.Tear && len(got) < atLeast || len(got) > 5 {
					t.Fatalf("%d lines are there", len(got))
				}
				for i, line := range got[:min(4, len(got))] {
					if line != strconv.Itoa(i+1) {
						t.Fatalf("line %d is %q", i, line)
					}
				}
				must(t, os.WriteFile(filepath.Join(fs.Dir(), "g"), []byte("on"), 0o600))
				r, err := fs.Recording()
				must(t, err)
				if n := len(r.Ops); n < 12 || r.Ops[1].Kind != disk.Write || string(r.Ops[1].Data) != "1\n" || r.Ops[n-1].Path != "/g" {
					t.Fatalf("recorded %v", r.Ops)
				}
			})
		}
	}
}

func TestWaitKilledEnds(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fs.WaitKilled(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// TestCloseInUse: a mount goes away although somebody has a file open, and although its process has died.
func TestCloseInUse(t *testing.T) {
	fs := mount(t, faultfs.Options{})
	f, err := os.Create(filepath.Join(fs.Dir(), "f"))
	must(t, err)
	defer f.Close()
	must(t, fs.SetStuck(true))
	wrote := make(chan error, 1)
	go func() { _, err := f.WriteString("x"); wrote <- err }()
	must(t, fs.Close())
	if err := <-wrote; err == nil {
		t.Fatal("a write went through a stuck disk")
	}
}
