package crash

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// trio is a cluster of three, of which the last has a faulty file system.
type trio struct {
	t     *testing.T
	fs    *faultfs.FS
	cfgs  [3]memberConfig
	procs [3]*process
	all   *client.Client // of the first two
	load  workload
	known *expectation
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

func newTrio(t *testing.T, kind string) *trio {
	t.Helper()
	fs, err := faultfs.Mount(filepath.Join(t.TempDir(), "disk"), faultfs.Options{Record: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &trio{t: t, fs: fs, known: expect()}
	t.Cleanup(func() {
		for _, p := range x.procs {
			if p != nil {
				p.kill()
			}
		}
		if err := fs.Close(); err != nil {
			t.Error(err)
		}
	})
	var members []store.Member
	var endpoints []string
	dirs := []string{t.TempDir(), t.TempDir(), filepath.Join(fs.Dir(), "data")}
	for i, name := range []string{"one", "two", "three"} {
		log := "boltdb" // forgets old entries at once; wal serves them as long as their segment is there, and sends no snapshot
		if i == 2 {
			log = kind
		}
		x.cfgs[i] = memberConfig{Name: name, Dir: dirs[i], LogStore: log, Listen: freeAddr(t), RaftListen: freeAddr(t)}
		members = append(members, store.Member{Name: name, RaftAddr: x.cfgs[i].RaftListen})
		endpoints = append(endpoints, x.cfgs[i].Listen)
	}
	opened := make(chan error, 3)
	for i := range x.cfgs {
		x.cfgs[i].Members = members
		x.procs[i] = spawn(t)
		go func() { opened <- x.procs[i].open(x.cfgs[i]) }() // each waits for the others
	}
	for range x.cfgs {
		if err := <-opened; err != nil {
			t.Fatal(err)
		}
	}
	if x.all, err = client.New(client.Config{Endpoints: endpoints[:2], Timeout: opening}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.all.Close() })
	x.load.several = true
	x.load.client = func() *client.Client { return x.all }
	x.load.note = func(e event) error {
		x.load.mu.Lock()
		defer x.load.mu.Unlock()
		x.known.add(e)
		return nil
	}
	return x
}

// leaveBehind makes the third member, which must not run, need a snapshot.
func (x *trio) leaveBehind(ctx context.Context) error {
	for _, name := range []string{"one", "two"} { // a leader keeps its log for a while for who was there a moment ago; a new one does not know
		if err := x.moveLeader(ctx, name); err != nil {
			return fmt.Errorf("moving the leader to %s: %w", name, err)
		}
	}
	if err := errors.Join(x.load.writeAll(ctx, 16), x.load.compact(ctx)); err != nil {
		return err
	}
	for _, p := range x.procs[:2] {
		if _, err := p.order(order{Snapshot: true}); err != nil {
			return err
		}
	}
	return x.load.writeAll(ctx, 1)
}

// moveLeader tries for as long as there is none, or it changes.
func (x *trio) moveLeader(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	for {
		if _, err := x.all.Revision(ctx); err != nil { // waits for a leader
			return err
		}
		_, err := x.all.Membership().MoveLeader(ctx, &storev1.MoveLeaderRequest{Name: name}, grpc.WaitForReady(true))
		if err == nil || status.Code(err) != codes.Unavailable {
			return err
		}
	}
}

// TestKilledWhileInstalling crashes a member of three at an operation of its start and of the snapshot that it receives there.
func TestKilledWhileInstalling(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			x := newTrio(t, kind)
			step := 7
			if *all {
				step = 1
			}
			tried, installing, through := 0, 0, false
			for n := 1; !through; n += step {
				when, loss := faultfs.When(tried%2), disk.Loss{Mode: disk.LossMode(tried % 3), Seed: *seed + uint64(n)}
				x.procs[2].kill()
				if err := x.leaveBehind(t.Context()); err != nil {
					t.Fatal(err)
				}
				now, err := x.fs.Count()
				if err != nil {
					t.Fatal(err)
				}
				p := spawn(t)
				x.procs[2] = p
				if err := x.fs.KillAt(now+n, when, p.pid()); err != nil {
					t.Fatal(err)
				}
				what := fmt.Sprintf("%v operation %d of the start, %v", when, n, loss.Mode)
				switch err := p.open(x.cfgs[2]); {
				case err == nil: // it was through before
					through = true
					p.kill()
				case !errors.Is(err, errGone):
					t.Fatalf("%s: %v; %s", what, err, p.said())
				}
				if rec, err := x.fs.Recording(); err != nil {
					t.Fatal(err)
				} else if installs(rec.Ops[now:]) {
					installing++
				}
				if err := x.fs.Crash(loss); err != nil {
					t.Fatal(err)
				}
				x.procs[2] = spawn(t)
				if err := x.procs[2].open(x.cfgs[2]); err != nil {
					t.Fatalf("%s: it does not start: %v; %s", what, err, x.procs[2].said())
				}
				c, err := x.procs[2].dial()
				if err != nil {
					t.Fatal(err)
				}
				if err := x.known.check(t.Context(), c); err != nil {
					t.Errorf("%s: %v; %s", what, err, x.procs[2].said())
				}
				c.Close()
				tried++
			}
			t.Logf("killed at %d operations of a start, %d of them in or after an installation", tried-1, installing)
			if installing == 0 {
				t.Error("no snapshot was sent: the test is in vain")
			}
		})
	}
}

// installs reports whether a snapshot was begun.
func installs(ops []disk.Op) bool {
	for _, o := range ops {
		if o.Kind == disk.Mkdir && strings.HasPrefix(o.Path, "/data/snapshots/") {
			return true
		}
	}
	return false
}
