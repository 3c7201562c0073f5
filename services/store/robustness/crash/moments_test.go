package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// moment is a disk after a crash and what the clients knew by then.
type moment struct {
	after int // operations
	op    string
	loss  disk.Loss
	disk  *disk.Disk
	known *expectation
}

func (m *moment) String() string {
	return fmt.Sprintf("after operation %s, %v %d", m.op, m.loss.Mode, m.loss.Seed)
}

// record runs the workload twice over and returns what happened on the disk.
func record(t *testing.T, kind string, journaled bool) faultfs.Recording {
	t.Helper()
	r := newRig(t, kind, faultfs.Options{Record: true, Journaled: journaled})
	if err := r.start(); err != nil {
		t.Fatalf("starting: %v; %s", err, r.proc.said())
	}
	for round := range int64(2) {
		if err := r.load.run(t.Context(), 1+10*round); err != nil {
			t.Fatalf("the workload failed: %v; %s", err, r.proc.said())
		}
	}
	if err := r.known.check(t.Context(), r.client); err != nil {
		t.Fatal(err)
	}
	rec, err := r.fs.Recording()
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

// early is how many operations the making of a new member takes, about: of their moments more are tried.
const early = 60

// moments makes every moment of a recording and gives a sample of about n to fn, in order.
func moments(t *testing.T, rec faultfs.Recording, journaled bool, n int, losses []disk.Loss, fn func(moment) bool) {
	t.Helper()
	d, known, mark := disk.New(), expect(), 0
	d.Journaled = journaled
	total := (len(rec.Ops) + 1) * len(losses)
	rnd := rand.New(rand.NewPCG(*seed, uint64(total)))
	for at := 0; at <= len(rec.Ops); at++ {
		op := "none"
		if at > 0 {
			o := rec.Ops[at-1]
			if errno := d.Apply(&o); errno != 0 {
				t.Fatalf("%s: %v", o.String(), errno)
			}
			op = o.String()
		}
		for ; mark < len(rec.Marks) && rec.Marks[mark].After <= at; mark++ {
			var e event
			if err := json.Unmarshal([]byte(rec.Marks[mark].Label), &e); err != nil {
				t.Fatal(err)
			}
			known.add(e)
		}
		for _, loss := range losses {
			if rnd.IntN(total) >= n && (at > early || rnd.IntN(6) > 0) {
				continue
			}
			m := moment{after: at, op: op, loss: loss, disk: d.Clone(), known: known.clone()}
			m.loss.Seed += uint64(at)
			m.disk.Crash(m.loss)
			if !fn(m) {
				return
			}
		}
	}
}

// TestEveryMoment starts a member on the disk as it was at each moment of a run.
func TestEveryMoment(t *testing.T) {
	losses := []disk.Loss{{Mode: disk.Keep}, {Mode: disk.Drop}, {Mode: disk.Tear, Seed: *seed}}
	n := 160
	if *all {
		n = 1 << 30
		for i := range uint64(1) {
			losses = append(losses, disk.Loss{Mode: disk.Tear, Seed: *seed + 1000_000*(i+1)})
		}
	}
	for _, kind := range kinds() {
		for _, journaled := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, journaled=%v", kind, journaled), func(t *testing.T) {
				rec := record(t, kind, journaled)
				todo := make(chan moment)
				var wg sync.WaitGroup
				var tried, failed atomic.Int64
				for range 2 {
					wg.Go(func() {
						c := &checker{t: t, kind: kind}
						for m := range todo {
							tried.Add(1)
							if err := c.check(t.Context(), m); err != nil {
								if failed.Add(1) <= 10 {
									t.Errorf("%v: %v", m.String(), err)
								}
							}
						}
					})
				}
				moments(t, rec, journaled, n/2/len(kinds()), losses, func(m moment) bool { todo <- m; return failed.Load() < 50 || *all })
				close(todo)
				wg.Wait()
				t.Logf("%d operations, %d moments tried, %d failed", len(rec.Ops), tried.Load(), failed.Load())
			})
		}
	}
}

// checker opens members one after the other in one process, a new one when it has died.
type checker struct {
	t    testing.TB
	kind string
	proc *process
	used int
}

func (c *checker) check(ctx context.Context, m moment) error {
	dir, err := os.MkdirTemp(c.t.TempDir(), "moment")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := m.disk.Save(dir); err != nil {
		return err
	}
	return c.open(ctx, memberConfig{Name: "one", Dir: filepath.Join(dir, "data"), LogStore: c.kind}, m.known)
}

// known says what is wrong with a store.
type known interface {
	check(ctx context.Context, c *client.Client) error
}

// open opens a member on a folder and looks whether everything is there.
func (c *checker) open(ctx context.Context, cfg memberConfig, known known) error {
	if c.proc == nil || c.used > 200 {
		if c.proc != nil {
			c.proc.kill()
		}
		c.proc, c.used = spawn(c.t), 0
	}
	c.used++
	p := c.proc
	err := p.open(cfg)
	if err == nil {
		defer func() {
			if p.close() != nil {
				p.kill()
				c.proc = nil
			}
		}()
		conn, err := p.dial()
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := known.check(ctx, conn); err != nil {
			return fmt.Errorf("%w; %s", err, p.said())
		}
		return nil
	}
	if errors.Is(err, errGone) || strings.Contains(err.Error(), errNotReady.Error()) {
		p.kill()
		c.proc = nil
		return fmt.Errorf("it does not start: %w; %s", err, p.said())
	}
	return fmt.Errorf("it does not start: %w", err)
}
