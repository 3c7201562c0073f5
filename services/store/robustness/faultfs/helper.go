package faultfs

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/rpc"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// helperDir makes this program the process behind a mount; it names the mount point.
const helperDir = "ORRERY_FAULTFS_DIR"

// Main does not return in a process that Mount started. Programs that mount call it first thing.
func Main() {
	dir := os.Getenv(helperDir)
	if dir == "" {
		return
	}
	if err := serve(dir); err != nil {
		fmt.Fprintln(os.Stderr, "faultfs:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// helper is the process behind one mount.
type helper struct {
	dir    string
	fs     *filesystem
	server *fuse.Server
}

// serve mounts and obeys until the other side has gone.
func serve(dir string) error {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // its end is that of the connection
	file := os.NewFile(3, "control")
	conn, err := net.FileConn(file)
	if err != nil {
		return fmt.Errorf("this program was started as a helper without its connection: %w", err)
	}
	file.Close()
	h := &helper{dir: dir, fs: newFilesystem()}
	s := rpc.NewServer()
	if err := s.RegisterName("Control", &Control{h}); err != nil {
		return err
	}
	s.ServeConn(conn)
	_ = h.fs.with(func(f *filesystem) error { f.frozen = true; f.setStuck(false); return nil })
	return h.unmount(true)
}

func (h *helper) mount() error {
	server, err := fuse.NewServer(h.fs, h.dir, &fuse.MountOptions{
		FsName: "faultfs", Name: "faultfs", DirectMountStrict: true, AllowOther: true,
		MaxWrite: 1 << 20, DisableXAttrs: true, DisableReadDirPlus: true, ExplicitDataCacheControl: true,
		Logger: log.New(os.Stderr, "faultfs: ", 0),
	})
	if err != nil {
		return err
	}
	go server.Serve() // ends when it is unmounted
	h.server = server
	return server.WaitMount()
}

// unmount waits a little for users who are going; with force it does not mind those who stay.
func (h *helper) unmount(force bool) error {
	if h.server == nil {
		return nil
	}
	var err error
	for range 100 {
		if err = unix.Unmount(h.dir, 0); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	switch {
	case err == nil:
		ended := make(chan struct{})
		go func(s *fuse.Server) { s.Wait(); close(ended) }(h.server)
		select {
		case <-ended:
		case <-time.After(time.Second): // somebody made a mount namespace meanwhile, which has a copy: it is of no use to anybody
		}
		h.server = nil
		return nil
	case force:
		return unix.Unmount(h.dir, unix.MNT_DETACH)
	}
	return fmt.Errorf("unmounting %s: %w: end the processes that use it first", h.dir, err)
}

func (h *helper) crash(loss disk.Loss) error {
	if err := h.unmount(false); err != nil {
		return err
	}
	_ = h.fs.with(func(f *filesystem) error {
		f.disk.Crash(loss)
		f.frozen, f.kill = false, KillArgs{}
		clear(f.lists)
		return nil
	})
	return h.mount()
}
