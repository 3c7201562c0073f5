package faultfs

import (
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// The types below are exported for net/rpc; tests use FS.

// Nothing is an empty message.
type Nothing struct{}

// FailArgs are those of FS.FailSyncs.
type FailArgs struct {
	Times, From int
	Drop        bool
}

// KillArgs are those of FS.KillAt.
type KillArgs struct {
	N    int
	When When
	Pid  int
}

// Control is the helper's side of FS.
type Control struct{ h *helper }

// Mount serves FS.
func (c *Control) Mount(opts Options, _ *Nothing) error {
	c.h.fs.disk.Journaled = opts.Journaled
	c.h.fs.record = opts.Record
	return c.h.mount()
}

// SetSyncDelay serves FS.
func (c *Control) SetSyncDelay(d time.Duration, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.syncDelay = d; return nil })
}

// FailSyncs serves FS.
func (c *Control) FailSyncs(a FailArgs, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.fail = a; return nil })
}

// SetFree serves FS.
func (c *Control) SetFree(bytes int64, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error {
		f.disk.Capacity = 0
		if bytes >= 0 {
			f.disk.Capacity = max(1, f.disk.Used()+bytes) // 0 would be without limit
		}
		return nil
	})
}

// SetStuck serves FS.
func (c *Control) SetStuck(stuck bool, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.setStuck(stuck); return nil })
}

// KillAt serves FS.
func (c *Control) KillAt(a KillArgs, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.kill = a; f.killed = make(chan disk.Op, 1); return nil })
}

// KilledReply says whether KillAt has happened, and at which operation.
type KilledReply struct {
	Killed bool
	Op     disk.Op
}

// Killed serves FS.WaitKilled. It waits for a moment only: a connection that is closed ends when its last call does.
func (c *Control) Killed(_ Nothing, r *KilledReply) error {
	var killed chan disk.Op
	_ = c.h.fs.with(func(f *filesystem) error { killed = f.killed; return nil })
	select {
	case r.Op = <-killed:
		r.Killed = true
		killed <- r.Op // for who asks again
	case <-time.After(100 * time.Millisecond):
	}
	return nil
}

// Thaw serves FS.
func (c *Control) Thaw(Nothing, *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.frozen = false; return nil })
}

// Crash serves FS.
func (c *Control) Crash(loss disk.Loss, _ *Nothing) error { return c.h.crash(loss) }

// Count serves FS.
func (c *Control) Count(_ Nothing, n *int) error {
	return c.h.fs.with(func(f *filesystem) error { *n = f.disk.Ops(); return nil })
}

// Mark serves FS.
func (c *Control) Mark(label string, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { f.marks = append(f.marks, Mark{f.disk.Ops(), label}); return nil })
}

// Recording serves FS.
func (c *Control) Recording(_ Nothing, r *Recording) error {
	return c.h.fs.with(func(f *filesystem) error {
		// Copies: the answer is sent after the lock is given back.
		r.Ops, r.Marks = append(r.Ops, f.ops...), append(r.Marks, f.marks...)
		return nil
	})
}

// Load serves FS.
func (c *Control) Load(from string, _ *Nothing) error {
	return c.h.fs.with(func(f *filesystem) error { return f.disk.Load(from) })
}

// Save serves FS.
func (c *Control) Save(to string, _ *Nothing) error {
	var copied *disk.Disk
	_ = c.h.fs.with(func(f *filesystem) error { copied = f.disk.Clone(); return nil })
	return copied.Save(to)
}
