package procgroup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/utils/clock"
)

// Process says how to start one child.
type Process struct {
	// Name names its pid and log files; letters, digits, dashes and dots.
	Name string
	// Command is the executable, Args its arguments without the executable.
	Command string
	Args    []string
	// Env is added to the supervisor's own environment.
	Env []string
	// Dir is the working directory; "" is the supervisor's.
	Dir string
	// Listeners are listening sockets that outlive the child: each start of it inherits them as file descriptors 3 and up,
	// with their number in LISTEN_FDS (systemd's socket activation protocol, sd_listen_fds(3)). Connections made while the child is being restarted wait
	// instead of being refused. They stay the caller's to close.
	Listeners []*os.File
}

// Options tune a Supervisor; the zero values are good.
type Options struct {
	// StopTimeout is how long a child may take to end after SIGTERM before it is killed; 0 means 20 s.
	StopTimeout time.Duration
	// FirstDelay is the pause before a dead child is started again, doubled with every death up to MaxDelay; a child that
	// lived for ResetAfter begins anew. 0 means 200 ms, 10 s and 30 s.
	FirstDelay, MaxDelay, ResetAfter time.Duration
	Logger                           *slog.Logger
	Clock                            clock.WithTicker
	// Jitter is the random part of a delay, from 0 to 1; nil is random.
	Jitter func() float64
}

// Supervisor keeps child processes running. Children die with it, even when it is killed.
type Supervisor struct {
	runDir, logDir string
	o              Options
	children       []*child
}

// NewSupervisor keeps pid files in dataDir/run and logs in dataDir/logs.
func NewSupervisor(dataDir string, o Options) (*Supervisor, error) {
	s := &Supervisor{runDir: filepath.Join(dataDir, "run"), logDir: filepath.Join(dataDir, "logs"), o: o}
	if s.o.StopTimeout <= 0 {
		s.o.StopTimeout = 20 * time.Second
	}
	if s.o.FirstDelay <= 0 {
		s.o.FirstDelay = 200 * time.Millisecond
	}
	if s.o.MaxDelay <= 0 {
		s.o.MaxDelay = 10 * time.Second
	}
	if s.o.ResetAfter <= 0 {
		s.o.ResetAfter = 30 * time.Second
	}
	if s.o.Logger == nil {
		s.o.Logger = slog.Default()
	}
	if s.o.Clock == nil {
		s.o.Clock = clock.RealClock{}
	}
	if s.o.Jitter == nil {
		s.o.Jitter = rand.Float64
	}
	for _, dir := range []string{s.runDir, s.logDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("procgroup: the data folder cannot be used: %w", err)
		}
	}
	return s, nil
}

// Start starts a child and from then on keeps it running. It fails only when the first start does: a missing executable is a
// mistake that no retry repairs.
func (s *Supervisor) Start(p Process) error {
	if p.Name == "" || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") != "" || strings.HasPrefix(p.Name, ".") {
		return fmt.Errorf("procgroup: %q cannot name a process: use letters, digits, dashes and dots", p.Name)
	}
	for _, c := range s.children {
		if c.Name == p.Name {
			return fmt.Errorf("procgroup: a process called %q runs already", p.Name)
		}
	}
	c := &child{
		Process: p,
		o:       &s.o,
		pidFile: filepath.Join(s.runDir, p.Name+".pid"),
		logFile: filepath.Join(s.logDir, p.Name+".log"),
		log:     s.o.Logger.With("process", p.Name),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
	}
	started := make(chan error, 1)
	go c.supervise(started)
	if err := <-started; err != nil {
		<-c.done
		return fmt.Errorf("procgroup: cannot start %s (%s): %w", p.Name, p.Command, err)
	}
	s.children = append(s.children, c)
	return nil
}

// Wait blocks until ctx ends, then stops all children.
func (s *Supervisor) Wait(ctx context.Context) error {
	<-ctx.Done()
	return s.Stop()
}

// Stop ends the children one by one, the last started first: SIGTERM, then SIGKILL after Options.StopTimeout. A child that had to be
// killed is an error.
func (s *Supervisor) Stop() error {
	var errs []error
	for i := len(s.children) - 1; i >= 0; i-- {
		c := s.children[i]
		close(c.stop)
		<-c.done
		if c.killed {
			errs = append(errs, fmt.Errorf("procgroup: %s did not end within %v of SIGTERM and was killed", c.Name, s.o.StopTimeout))
		}
	}
	s.children = nil
	return errors.Join(errs...)
}
