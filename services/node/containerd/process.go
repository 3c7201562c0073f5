package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// process is a process known by pid and start time, so that a reused pid is not mistaken for it.
type process struct {
	pid   int
	start string
}

// startTime is the 22nd field of /proc/PID/stat: clock ticks after boot.
func startTime(pid int) (string, error) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return "", err
	}
	// The second field is the program's name in parentheses and may hold spaces.
	_, rest, ok := strings.Cut(string(raw[strings.LastIndexByte(string(raw), ')'):]), ") ")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return "", fmt.Errorf("/proc/%d/stat is not as expected", pid)
	}
	if fields[0] == "Z" {
		return "", os.ErrProcessDone
	}
	return fields[19], nil
}

func (p process) alive() bool {
	start, err := startTime(p.pid)
	return err == nil && start == p.start
}

func (p process) write(file string) error {
	return os.WriteFile(file, fmt.Appendf(nil, "%d %s\n", p.pid, p.start), 0o644)
}

// readProcess reads a pid file; ok is false when there is none or its process is gone.
func readProcess(file string) (process, bool) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(raw))
	if len(fields) != 2 {
		return process{}, false
	}
	pid, err := strconv.Atoi(fields[0])
	p := process{pid: pid, start: fields[1]}
	return p, err == nil && p.alive()
}

// wait returns when the process, which need not be a child, has ended, or with ctx's error.
func (p process) wait(ctx context.Context) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		if errors.Is(err, unix.ESRCH) {
			return nil
		}
		return fmt.Errorf("watching process %d: %w", p.pid, err)
	}
	defer unix.Close(fd)
	for p.alive() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// The descriptor becomes readable when the process ends; the timeout is only for looking at ctx.
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 200)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// end asks the process to end, and kills it when it has not after grace.
func (p process) end(ctx context.Context, grace time.Duration) error {
	if !p.alive() {
		return nil
	}
	_ = unix.Kill(p.pid, unix.SIGTERM)
	patient, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := p.wait(patient); err == nil {
		return nil
	}
	_ = unix.Kill(p.pid, unix.SIGKILL)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := p.wait(last); err != nil {
		return fmt.Errorf("process %d does not end: %w", p.pid, err)
	}
	return nil
}

// processesWith lists processes whose command line has all of the given arguments.
func processesWith(arguments ...string) []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []process
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		if err != nil {
			continue
		}
		line := "\x00" + string(raw) + "\x00"
		all := true
		for _, argument := range arguments {
			all = all && strings.Contains(line, "\x00"+argument+"\x00")
		}
		if !all {
			continue
		}
		if start, err := startTime(pid); err == nil {
			found = append(found, process{pid, start})
		}
	}
	return found
}
