// Package sandbox puts a program into namespaces of its own: processes, mounts and network. When the program ends, however
// it ends, the kernel ends every process that it started and takes away every mount, bridge and firewall rule that it made.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"
)

const inside = "ORRERY_ROBUSTNESS_SANDBOX"

// Enter returns in the sandbox. Outside of it, it runs this program again in one, passes signals on, calls after, and exits as
// that did.
func Enter(after func()) error {
	if os.Getenv(inside) == "" {
		code, err := again()
		after()
		if err != nil {
			return err
		}
		os.Exit(code)
	}
	if err := os.Unsetenv(inside); err != nil { // the members are not to know
		return err
	}
	// What is mounted here stays here, and /proc shows the processes of here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

func again() (int, error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("the run makes network namespaces, mounts and firewall rules of its own: run it as root")
	}
	runtime.LockOSThread() // the inner one is told when this very thread dies
	defer runtime.UnlockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.SysProcAttr = &unix.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
		Pdeathsig:  unix.SIGKILL,
		Setpgid:    true, // signals come through here, once
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("making namespaces for the run: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			_ = cmd.Process.Signal(s)
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			if code := cmd.ProcessState.ExitCode(); code >= 0 {
				return code, nil
			}
			return 1, fmt.Errorf("the run was ended by a signal: %v", cmd.ProcessState)
		}
	}
}
