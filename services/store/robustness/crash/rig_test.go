package crash

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
)

// rig is a member on a faulty file system under the workload.
type rig struct {
	t    testing.TB
	fs   *faultfs.FS
	cfg  memberConfig
	load workload

	mu     sync.Mutex
	proc   *process
	client *client.Client
	known  *expectation
	// changed is closed when there is another process, restarting says that there will be.
	changed    chan struct{}
	restarting bool
	// before is called with a new process before it opens the store.
	before func(*process)
}

// kinds are the kinds of log that are tested.
func kinds() []string {
	if *logStore != "" {
		return []string{*logStore}
	}
	return []string{"boltdb", "wal"}
}

// newRig mounts a file system; start starts the member.
func newRig(t testing.TB, kind string, opts faultfs.Options) *rig {
	t.Helper()
	fs, err := faultfs.Mount(filepath.Join(t.TempDir(), "disk"), opts)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, fs: fs, known: expect(), cfg: memberConfig{Name: "one", Dir: filepath.Join(fs.Dir(), "data"), LogStore: kind}}
	t.Cleanup(r.end)
	r.load.note = func(e event) error {
		r.mu.Lock()
		r.known.add(e)
		r.mu.Unlock()
		data, err := json.Marshal(e)
		return errors.Join(err, fs.Mark(string(data)))
	}
	r.load.snapshot = func() error { _, err := r.proc.order(order{Snapshot: true}); return err }
	r.load.client = func() *client.Client { r.mu.Lock(); defer r.mu.Unlock(); return r.client }
	r.load.restart = func() error {
		r.mu.Lock()
		r.restarting = true
		r.mu.Unlock()
		r.proc.kill()
		return r.start()
	}
	return r
}

// end ends the process and takes the file system away. It may be called twice.
func (r *rig) end() {
	if r.client != nil {
		r.client.Close()
	}
	if r.proc != nil {
		r.proc.kill()
	}
	if err := r.fs.Close(); err != nil {
		r.t.Error(err)
	}
}

// start starts a process and opens the member.
func (r *rig) start() error {
	if r.client != nil {
		r.client.Close()
	}
	p := spawn(r.t)
	r.mu.Lock()
	r.proc, r.restarting = p, false
	if r.changed != nil {
		close(r.changed)
	}
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if r.before != nil {
		r.before(r.proc)
	}
	if err := r.proc.open(r.cfg); err != nil {
		return err
	}
	c, err := r.proc.dial()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.client = c
	return err
}

// run puts the member through the workload until that is done or the process has ended.
func (r *rig) run(ctx context.Context, first int64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			r.mu.Lock()
			p, changed := r.proc, r.changed
			r.mu.Unlock()
			select {
			case <-changed: // it is being restarted
				continue
			case <-ctx.Done():
			case <-p.gone:
				r.mu.Lock()
				if p == r.proc && !r.restarting {
					cancel()
				}
				r.mu.Unlock()
				select {
				case <-changed:
				case <-ctx.Done():
				}
			}
		}
	}()
	return r.load.run(ctx, first)
}

// restartAndCheck starts the member after a crash and looks whether everything is there.
func (r *rig) restartAndCheck(ctx context.Context) error {
	r.before = nil
	if err := r.start(); err != nil {
		return err
	}
	return r.known.check(ctx, r.client)
}
