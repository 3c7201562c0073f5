package faultfs

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// filesystem answers the kernel's calls from a disk.
type filesystem struct {
	fuse.RawFileSystem // what is not supported
	server             *fuse.Server

	mu     sync.Mutex // guards all below; never held while something waits
	disk   *disk.Disk
	lists  map[uint64][]disk.Entry // of open folders, by handle
	handle uint64

	record bool
	ops    []disk.Op
	marks  []Mark

	syncDelay time.Duration
	fail      FailArgs
	stuck     chan struct{} // nil, or closed when changes may go on
	frozen    bool
	kill      KillArgs
	killed    chan disk.Op
}

func newFilesystem() *filesystem {
	return &filesystem{
		RawFileSystem: fuse.NewDefaultRawFileSystem(), disk: disk.New(), lists: map[uint64][]disk.Entry{}, killed: make(chan disk.Op, 1),
	}
}

func (f *filesystem) with(fn func(*filesystem) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fn(f)
}

func (f *filesystem) setStuck(stuck bool) {
	switch {
	case stuck && f.stuck == nil:
		f.stuck = make(chan struct{})
	case !stuck && f.stuck != nil:
		close(f.stuck)
		f.stuck = nil
	}
}

// change is the one place that all changes and syncs pass.
func (f *filesystem) change(cancel <-chan struct{}, from *fuse.InHeader, op *disk.Op) fuse.Status {
	if st := f.wait(cancel, from, op.Kind); st != fuse.OK {
		return st
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.frozen {
		return fuse.EIO
	}
	due := f.kill.N == f.disk.Ops()+1
	if due && f.kill.When == Before {
		f.disk.Name(op)
		op.N = f.kill.N
		f.die(op)
		return fuse.EIO
	}
	if op.Kind == disk.Sync && f.fail.Times != 0 && f.disk.Ops()+1 >= f.fail.From {
		op.Failed, op.Dropped = true, f.fail.Drop
		if f.fail.Times > 0 {
			f.fail.Times--
		}
	}
	if errno := f.disk.Apply(op); errno != 0 {
		return fuse.Status(errno)
	}
	if f.record {
		kept := *op
		kept.Data = bytes.Clone(op.Data) // the kernel's buffer is used again
		f.ops = append(f.ops, kept)
	}
	if due {
		f.die(op)
	}
	if op.Failed {
		if op.Dropped {
			go f.server.InodeNotify(op.Ino, 0, 0) // what the kernel has cached is gone; not now: it waits for this answer
		}
		return fuse.EIO
	}
	return fuse.OK
}

// die kills the process that waits for it and lets nothing happen any more. The process cannot run again before it dies: the
// signal is pending when its call returns.
func (f *filesystem) die(op *disk.Op) {
	pid := f.kill.Pid
	f.kill = KillArgs{}
	f.frozen = true
	_ = syscall.Kill(pid, syscall.SIGKILL)
	kept := *op
	kept.Data = nil
	f.killed <- kept
}

// wait holds an operation up for as long as the disk is stuck or slow.
func (f *filesystem) wait(cancel <-chan struct{}, from *fuse.InHeader, kind disk.Kind) fuse.Status {
	var slow <-chan time.Time
	f.mu.Lock()
	stuck, delay := f.stuck, f.syncDelay
	f.mu.Unlock()
	if (kind == disk.Sync || kind == disk.SyncDir) && delay > 0 {
		slow = time.After(delay)
	}
	for stuck != nil || slow != nil {
		select {
		case <-stuck:
			stuck = nil
		case <-slow:
			slow = nil
		case <-cancel:
			// Any signal comes here; a disk minds only the last one.
			if dying(from.Pid) {
				return fuse.EINTR
			}
			cancel = nil
			continue
		}
		if stuck == nil && slow == nil {
			f.mu.Lock()
			stuck = f.stuck // again, since
			f.mu.Unlock()
		}
	}
	return fuse.OK
}

// dying reports whether a thread has a SIGKILL waiting.
func dying(tid uint32) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(int(tid)) + "/status")
	if err != nil {
		return true
	}
	for _, field := range []string{"SigPnd:", "ShdPnd:"} {
		_, rest, _ := bytes.Cut(data, []byte(field))
		line, _, _ := bytes.Cut(rest, []byte("\n"))
		mask, _ := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 64)
		if mask&(1<<(syscall.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}
