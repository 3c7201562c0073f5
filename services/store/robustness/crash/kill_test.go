package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// TestKilled kills a member's process at an operation, on either side, keeps or loses what was not synced, and starts it again on
// the same disk.
func TestKilled(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			total := 500 // operations of one round of the workload, about; found out with the first
			rnd := rand.New(rand.NewPCG(*seed, 1))
			n := 6
			if *all {
				n = 1 << 30
			}
			tried := 0
			for at := 1; at <= total && tried < n; at++ {
				if !*all {
					at = total*tried/n + 1 + rnd.IntN(total/n)
				}
				when, loss := faultfs.When(tried%2), disk.Loss{Mode: disk.LossMode(tried / 2 % 3), Seed: *seed + uint64(at)}
				total = killAt(t, kind, at, when, loss, total)
				tried++
				if *all { // both sides, and all modes by turns
					killAt(t, kind, at, 1-when, disk.Loss{Mode: disk.LossMode((tried/2 + 1) % 3), Seed: loss.Seed}, total)
				}
			}
			t.Logf("killed at %d of about %d operations", tried, total)
		})
	}
}

// killAt does it once and returns how many operations a round has, when it came to its end.
func killAt(t *testing.T, kind string, at int, when faultfs.When, loss disk.Loss, total int) int {
	t.Helper()
	name := fmt.Sprintf("%v operation %d, %v", when, at, loss.Mode)
	t.Run(name, func(t *testing.T) {
		r := newRig(t, kind, faultfs.Options{})
		r.before = func(p *process) {
			if err := r.fs.KillAt(at, when, p.pid()); err != nil {
				t.Error(err)
			}
		}
		err := r.start()
		if err == nil {
			err = r.run(t.Context(), 1)
		}
		if err == nil { // the round was shorter
			total, err = r.fs.Count()
			if err != nil {
				t.Fatal(err)
			}
			r.proc.kill()
		}
		t.Logf("the run ended with %v", err)
		waitGone(t, r.proc)
		if err := r.fs.Crash(loss); err != nil {
			t.Fatal(err)
		}
		if err := r.restartAndCheck(t.Context()); err != nil {
			t.Fatalf("after it was killed (%v): %v; %s", describeKill(r), err, r.proc.said())
		}
	})
	return total
}

func waitGone(t testing.TB, p *process) {
	t.Helper()
	select {
	case <-p.gone:
	case <-time.After(2 * opening):
		t.Fatalf("the process lives on although its disk is gone; %s", p.said())
	}
}

func describeKill(r *rig) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	op, err := r.fs.WaitKilled(ctx)
	if err != nil {
		return "at its end"
	}
	return op.String()
}

// image is a data folder after a run that ended with a crash, and what its clients knew.
func image(t *testing.T, kind string) (dir string, known *expectation) {
	t.Helper()
	r := newRig(t, kind, faultfs.Options{Journaled: true})
	if err := r.start(); err != nil {
		t.Fatalf("starting: %v; %s", err, r.proc.said())
	}
	if err := r.load.run(t.Context(), 1); err != nil {
		t.Fatalf("the workload failed: %v; %s", err, r.proc.said())
	}
	r.proc.kill()
	dir = filepath.Join(t.TempDir(), "image")
	if err := r.fs.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir, r.known
}

// TestKilledWhileRecovering crashes a member at each operation of its start after a crash, and starts it again.
func TestKilledWhileRecovering(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir, known := image(t, kind)
			step := 4
			if *all {
				step = 1
			}
			tried := 0
			for at := 1; ; at += step {
				r := newRig(t, kind, faultfs.Options{})
				r.known = known.clone()
				if err := r.fs.Load(dir); err != nil {
					t.Fatal(err)
				}
				r.before = func(p *process) {
					if err := r.fs.KillAt(at, faultfs.When(at%2), p.pid()); err != nil {
						t.Error(err)
					}
				}
				if err := r.start(); err == nil {
					break // it has no more operations
				} else if !errors.Is(err, errGone) {
					t.Fatalf("operation %d: %v; %s", at, err, r.proc.said())
				}
				waitGone(t, r.proc)
				if err := r.fs.Crash(disk.Loss{Mode: disk.LossMode(at / 2 % 3), Seed: *seed + uint64(at)}); err != nil {
					t.Fatal(err)
				}
				tried++
				if err := r.restartAndCheck(t.Context()); err != nil {
					t.Errorf("killed while recovering at %v, %v: %v; %s", describeKill(r), disk.LossMode(at/2%3), err, r.proc.said())
				}
				r.end()
			}
			if tried == 0 {
				t.Fatal("a start did nothing on its disk")
			}
			t.Logf("killed at %d operations of a start", tried)
		})
	}
}

// TestFailedSync lets one sync fail. Whatever the member does, afterwards everything that it acknowledged is there, also when
// the power fails.
func TestFailedSync(t *testing.T) {
	for _, kind := range kinds() {
		n := 3
		if *all {
			n = 100
		}
		rnd := rand.New(rand.NewPCG(*seed, 2))
		for i := range n {
			at, drop, mode := 30+rnd.IntN(270), i%2 == 0, disk.LossMode(i%3)
			t.Run(fmt.Sprintf("%s, from operation %d, drop=%v, %v", kind, at, drop, mode), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, kind, faultfs.Options{Journaled: true})
				if err := errors.Join(r.start(), r.fs.FailSyncFrom(at, drop)); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), opening)
				defer cancel()
				err := r.run(ctx, 1)
				t.Logf("the workload ended with %v", err)
				if ctx.Err() != nil {
					t.Errorf("the member neither works nor ends: a supervisor does not start it again; %s", r.proc.said())
				}
				r.proc.kill()
				if err := errors.Join(r.fs.FailSyncs(0, false), r.fs.Crash(disk.Loss{Mode: mode, Seed: *seed})); err != nil {
					t.Fatal(err)
				}
				if err := r.restartAndCheck(t.Context()); err != nil {
					t.Errorf("%v; %s", err, r.proc.said())
				}
			})
		}
	}
}

// TestFullDisk takes the space away in the middle of the work. Nothing is lost, and with space the member goes on.
func TestFullDisk(t *testing.T) {
	for _, kind := range kinds() {
		for _, free := range []int64{0, 300 << 10} {
			t.Run(fmt.Sprintf("%s, %d bytes", kind, free), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, kind, faultfs.Options{Journaled: true})
				if err := r.start(); err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(r.load.writeAll(t.Context(), 3), r.fs.SetFree(free)); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), opening)
				defer cancel()
				err := r.run(ctx, 1)
				t.Logf("the workload ended with %v", err)
				if ctx.Err() != nil {
					t.Errorf("the member neither works nor ends; %s", r.proc.said())
				}
				r.proc.kill()
				if err := errors.Join(r.fs.SetFree(-1), r.fs.Crash(disk.Loss{Mode: disk.Drop})); err != nil {
					t.Fatal(err)
				}
				if err := r.restartAndCheck(t.Context()); err != nil {
					t.Errorf("%v; %s", err, r.proc.said())
				}
			})
		}
	}
}
