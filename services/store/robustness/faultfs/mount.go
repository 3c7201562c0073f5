package faultfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// Options of a mount.
type Options struct {
	// Journaled makes a sync of anything cover all earlier changes of names, as ext4 and XFS do. Without it only a
	// sync of the folder does: the least that POSIX promises.
	Journaled bool
	// Record keeps all operations with their data, for Recording.
	Record bool
}

// FS is a mounted file system. Its methods are safe for concurrent use.
type FS struct {
	dir    string
	helper *exec.Cmd
	client *rpc.Client
	close  func() error
}

// Mount mounts an empty file system on dir, which is made when it is missing. The program must call Main first thing.
func Mount(dir string, opts Options) (*FS, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat("/dev/fuse"); err != nil || os.Geteuid() != 0 {
		return nil, errors.New("a faulty file system needs root and /dev/fuse: run as root, in a container with --device /dev/fuse --cap-add SYS_ADMIN")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "control"), os.NewFile(uintptr(pair[1]), "control")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	fs := &FS{dir: dir, helper: exec.Command("/proc/self/exe")}
	fs.helper.Env = append(os.Environ(), helperDir+"="+dir)
	fs.helper.ExtraFiles = []*os.File{theirs}
	fs.helper.Stdout, fs.helper.Stderr = os.Stderr, os.Stderr
	fs.helper.SysProcAttr = &unix.SysProcAttr{Setpgid: true} // an interrupt of the test is not for it
	if err := fs.helper.Start(); err != nil {
		conn.Close()
		return nil, err
	}
	fs.client = rpc.NewClient(conn)
	fs.close = sync.OnceValue(fs.end)
	if err := fs.call("Mount", opts, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("mounting a faulty file system on %s: %w", dir, err), fs.Close())
	}
	return fs, nil
}

func (fs *FS) call(method string, args, reply any) error {
	if args == nil {
		args = Nothing{}
	}
	if reply == nil {
		reply = &Nothing{}
	}
	return fs.client.Call("Control."+method, args, reply)
}

// Dir is where it is mounted.
func (fs *FS) Dir() string { return fs.dir }

// Close unmounts and ends the helper. Calls that are stuck fail. Processes that still use the file system get errors.
func (fs *FS) Close() error { return fs.close() }

func (fs *FS) end() error {
	fs.client.Close()
	done := make(chan error, 1)
	go func() { done <- fs.helper.Wait() }()
	var err error
	select {
	case err = <-done:
	case <-time.After(20 * time.Second):
		err = errors.Join(errors.New("the file system's process did not end"), fs.helper.Process.Kill(), <-done)
	}
	for unix.Unmount(fs.dir, unix.MNT_DETACH) == nil { // the helper died before it could
	}
	return err
}

// SetSyncDelay makes each sync take this much longer.
func (fs *FS) SetSyncDelay(d time.Duration) error { return fs.call("SetSyncDelay", d, nil) }

// FailSyncs makes the next n syncs of files fail with EIO, all of them with a negative n, none with 0. As on Linux what they should
// have written is lost and counts as clean: the next sync succeeds without it. With drop readers see that at once, without at
// the next loss of power.
func (fs *FS) FailSyncs(n int, drop bool) error {
	return fs.call("FailSyncs", FailArgs{Times: n, Drop: drop}, nil)
}

// FailSyncFrom makes one sync fail like FailSyncs, the first whose operation number is n or above.
func (fs *FS) FailSyncFrom(n int, drop bool) error {
	return fs.call("FailSyncs", FailArgs{Times: 1, From: n, Drop: drop}, nil)
}

// SetFree sets how many bytes of space are left before ENOSPC; negative means without limit.
func (fs *FS) SetFree(bytes int64) error { return fs.call("SetFree", bytes, nil) }

// SetStuck blocks all changes and syncs, or lets them go on. A process that is killed meanwhile dies.
func (fs *FS) SetStuck(stuck bool) error { return fs.call("SetStuck", stuck, nil) }

// When is the side of an operation.
type When uint8

// Sides of an operation.
const (
	Before When = iota // it is not done
	After              // it is done, its caller never learns
)

func (w When) String() string { return [...]string{"before", "after"}[w] }

// KillAt kills a process with SIGKILL at the n-th operation since the mount and freezes the file system, so that nothing else
// happens to it: every call fails until Thaw or Crash. n 0 forgets the order.
func (fs *FS) KillAt(n int, when When, pid int) error {
	return fs.call("KillAt", KillArgs{N: n, When: when, Pid: pid}, nil)
}

// WaitKilled waits until KillAt has happened and returns the operation.
func (fs *FS) WaitKilled(ctx context.Context) (disk.Op, error) {
	var r KilledReply
	for !r.Killed {
		if err := ctx.Err(); err != nil {
			return disk.Op{}, err
		}
		if err := fs.call("Killed", nil, &r); err != nil {
			return disk.Op{}, err
		}
	}
	return r.Op, nil
}

// Thaw ends what KillAt began: the file system goes on as it was.
func (fs *FS) Thaw() error { return fs.call("Thaw", nil, nil) }

// Crash makes the disk what a crash leaves and mounts it anew. Its users must be gone.
func (fs *FS) Crash(loss disk.Loss) error { return fs.call("Crash", loss, nil) }

// Count is the number of operations since the mount.
func (fs *FS) Count() (n int, err error) {
	err = fs.call("Count", nil, &n)
	return n, err
}

// Mark puts a remark into the recording, after everything that has happened before the call.
func (fs *FS) Mark(label string) error { return fs.call("Mark", label, nil) }

// Recording is what happened to a disk.
type Recording struct {
	Ops   []disk.Op
	Marks []Mark
}

// Mark is a remark of the test; After is the number of operations before it.
type Mark struct {
	After int
	Label string
}

// Recording returns all operations since the mount, of a file system with Options.Record.
func (fs *FS) Recording() (r Recording, err error) {
	err = fs.call("Recording", nil, &r)
	return r, err
}

// Load fills the empty file system from a folder and makes that durable; it does not count as operations.
func (fs *FS) Load(from string) error { return fs.call("Load", from, nil) }

// Save writes what processes see into a folder that is empty or missing.
func (fs *FS) Save(to string) error { return fs.call("Save", to, nil) }
