package procgroup

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// child is one supervised process.
type child struct {
	Process
	o                *Options
	pidFile, logFile string
	log              *slog.Logger

	stop chan struct{} // closed to end the child for good
	done chan struct{} // closed when the child is gone and stays so
	// killed is set, before done is closed, when SIGTERM was not enough.
	killed bool
}

// supervise starts the process again and again until stop. It holds one OS thread for as long: the kernel sends a child its
// parent-death signal when the *thread* that started it ends, so that thread must live as long as the child.
func (c *child) supervise(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	out, err := openLog(c.logFile)
	if err != nil {
		started <- err
		return
	}
	defer func() {
		if err := out.Close(); err != nil {
			c.log.Warn("closing the log file", "error", err)
		}
	}()
	cmd, err := c.start(out)
	started <- err
	if err != nil {
		return
	}
	delay := c.o.FirstDelay
	for {
		begun := c.o.Clock.Now()
		if !c.await(cmd) {
			return
		}
		if c.o.Clock.Since(begun) >= c.o.ResetAfter {
			delay = c.o.FirstDelay
		}
		for cmd = nil; cmd == nil; {
			pause := delay + time.Duration(float64(delay)*c.o.Jitter()/2)
			delay = min(2*delay, c.o.MaxDelay)
			c.log.Warn("process ended; it is started again", "in", pause.Round(time.Millisecond), "log", c.logFile)
			timer := c.o.Clock.NewTimer(pause)
			select {
			case <-c.stop:
				timer.Stop()
				return
			case <-timer.C():
			}
			if cmd, err = c.start(out); err != nil {
				c.log.Error("process cannot be started", "command", c.Command, "error", err)
			}
		}
	}
}

// start runs the command once and records its process id.
func (c *child) start(out io.Writer) (*exec.Cmd, error) {
	cmd := exec.Command(c.Command, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	if len(c.Listeners) > 0 {
		cmd.Env = append(cmd.Env, "LISTEN_FDS="+strconv.Itoa(len(c.Listeners)))
		cmd.ExtraFiles = c.Listeners
	}
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// A terminal's Ctrl-C goes to its whole process group; children get their SIGTERM from here, in order.
		Setpgid: true,
		// The child has to end even when this process is killed.
		Pdeathsig: syscall.SIGTERM,
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := writePID(c.pidFile, cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	c.log.Info("process started", "pid", cmd.Process.Pid)
	return cmd, nil
}

// await waits for the process's end: true when it died by itself, false when it was stopped for good.
func (c *child) await(cmd *exec.Cmd) bool {
	var state error
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		state = cmd.Wait()
	}()
	defer func() {
		if err := os.Remove(c.pidFile); err != nil && !errors.Is(err, os.ErrNotExist) {
			c.log.Warn("removing the pid file", "error", err)
		}
	}()
	select {
	case <-exited:
		c.log.Warn("process died", "pid", cmd.Process.Pid, "state", stateOf(state))
		return true
	case <-c.stop:
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.log.Warn("sending SIGTERM", "error", err)
	}
	timer := c.o.Clock.NewTimer(c.o.StopTimeout)
	defer timer.Stop()
	select {
	case <-exited:
	case <-timer.C():
		c.killed = true
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			c.log.Warn("sending SIGKILL", "error", err)
		}
		<-exited
	}
	c.log.Info("process stopped", "pid", cmd.Process.Pid)
	return false
}

func stateOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// writePID replaces the file by rename: a reader finds a whole number or no file.
func writePID(file string, pid int) error {
	tmp := filepath.Join(filepath.Dir(file), "."+filepath.Base(file))
	if err := os.WriteFile(tmp, []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		return fmt.Errorf("cannot write the pid file: %w", err)
	}
	if err := os.Rename(tmp, file); err != nil {
		return fmt.Errorf("cannot write the pid file: %w", err)
	}
	return nil
}
