package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/orrery-io/orrery/services/internal/images/pause"
	"github.com/orrery-io/orrery/services/node/cri"
)

// startTimeout bounds how long containerd may take until it is ready for pods.
const startTimeout = 60 * time.Second

// maxSocketPath is what fits in a sockaddr_un, less the suffix of containerd's second socket.
const maxSocketPath = 107 - len(".ttrpc")

// Daemon is a supervised containerd. Detach or Remove must be called in the end.
type Daemon struct {
	config  Config
	machine machine
	paths   paths
	client  *cri.Client
	logger  *slog.Logger
	stop    context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	current process
}

// Start runs containerd, or adopts the one that runs already in config.Dir, and returns when it is ready for pods.
func Start(ctx context.Context, config Config) (*Daemon, error) {
	dir, err := filepath.Abs(config.Dir)
	if err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	config.Dir = dir
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	p := paths{dir}
	if len(p.socket()) > maxSocketPath {
		return nil, fmt.Errorf("containerd: the socket's path %s is longer than the %d characters that Linux allows: choose a shorter data folder", p.socket(), maxSocketPath)
	}
	if err := os.MkdirAll(dir, 0o711); err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	m, err := detect(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("containerd: %w", err)
	}
	if !m.iptables {
		config.Logger.Warn("iptables cannot make NAT rules: pods get no host ports and reach nothing beyond this machine (apt-get install iptables)")
	}
	changed, err := config.write(m)
	if err != nil {
		return nil, fmt.Errorf("containerd: writing its configuration: %w", err)
	}
	client, err := cri.Dial(p.socket())
	if err != nil {
		return nil, err
	}
	d := &Daemon{config: config, machine: m, paths: p, client: client, logger: config.Logger.With("component", "containerd"), done: make(chan struct{})}
	running, ok := readProcess(p.pid())
	if ok && changed {
		d.logger.Info("configuration changed: restarting containerd, containers go on", "pid", running.pid)
		if err := running.end(ctx, 10*time.Second); err != nil {
			client.Close()
			return nil, fmt.Errorf("containerd: %w", err)
		}
		ok = false
	}
	if ok {
		d.logger.Info("adopted the running containerd", "pid", running.pid)
	} else if running, err = d.spawn(); err != nil {
		client.Close()
		return nil, err
	}
	d.current = running
	if err := d.becomeReady(ctx); err != nil {
		client.Close()
		_ = running.end(ctx, 5*time.Second)
		return nil, err
	}
	supervised, cancel := context.WithCancel(context.Background())
	d.stop = cancel
	go d.supervise(supervised)
	return d, nil
}

// Endpoint is the CRI socket.
func (d *Daemon) Endpoint() string { return "unix://" + d.paths.socket() }

// Client is a CRI client of this containerd; it ends with the Daemon.
func (d *Daemon) Client() *cri.Client { return d.client }

// Pid is containerd's process id.
func (d *Daemon) Pid() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.current.pid
}

// Bridge is the network device of the pods.
func (d *Daemon) Bridge() string { return d.paths.bridge() }

// Detach stops supervising and leaves containerd and all containers running, for the next Start to adopt.
func (d *Daemon) Detach() error {
	d.stop()
	<-d.done
	return d.client.Close()
}

// spawn starts the process, detached from this one's session and standard streams.
func (d *Daemon) spawn() (process, error) {
	log, err := os.OpenFile(d.paths.log(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return process{}, fmt.Errorf("containerd: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(d.machine.containerd, "--config", d.paths.config())
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "PATH="+searchPath)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return process{}, fmt.Errorf("starting containerd: %w", err)
	}
	// A child must be waited for, or its corpse stays; whether it lives is asked of /proc.
	go func() { _ = cmd.Wait() }()
	start, err := startTime(cmd.Process.Pid)
	if err != nil {
		return process{}, fmt.Errorf("containerd ended at once: %s", d.lastLog())
	}
	p := process{cmd.Process.Pid, start}
	if err := p.write(d.paths.pid()); err != nil {
		_ = cmd.Process.Kill()
		return process{}, fmt.Errorf("containerd: %w", err)
	}
	return p, nil
}

// becomeReady waits for the runtime and its network, and puts the sandbox image in.
func (d *Daemon) becomeReady(parent context.Context) error {
	ctx, cancel := context.WithTimeout(parent, startTimeout)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	var status cri.Status
	var err error
	for {
		if status, err = d.client.Status(ctx); err == nil && status.Runtime.Ready && status.Network.Ready {
			break
		}
		if cri.IsUnimplemented(err) {
			return fmt.Errorf("containerd runs, but its CRI part did not load: %s", d.lastLog())
		}
		if !d.current.alive() {
			return fmt.Errorf("containerd ended while starting: %s", d.lastLog())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if parent.Err() != nil {
				return parent.Err()
			}
			reason := "it does not answer"
			switch {
			case err != nil:
				reason = cri.Message(err)
			case !status.Runtime.Ready:
				reason = "runtime: " + status.Runtime.Message
			case !status.Network.Ready:
				reason = "network: " + status.Network.Message
			}
			return fmt.Errorf("containerd did not become ready: %s (its log is %s)", reason, d.paths.log())
		}
	}
	if d.config.SandboxImage != "" {
		return nil
	}
	return d.importPause(ctx)
}

// importPause gives containerd the built-in sandbox image, unless it has it.
func (d *Daemon) importPause(ctx context.Context) error {
	image, err := d.client.ImageStatus(ctx, pause.Reference)
	if err != nil {
		return fmt.Errorf("looking for the sandbox image: %w", err)
	}
	if image != nil {
		return nil
	}
	var archive, output bytes.Buffer
	if err := pause.WriteArchive(&archive); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, d.machine.ctr, "--address", d.paths.socket(), "--namespace", "k8s.io", "images", "import", "--snapshotter", d.machine.snapshotter, "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &archive, &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("importing the sandbox image: %w: %s", err, strings.TrimSpace(output.String()))
	}
	// containerd's CRI side learns of the image by an event, a moment later.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if image, err := d.client.ImageStatus(ctx, pause.Reference); err == nil && image != nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the sandbox image was imported, but containerd does not show it")
		}
	}
}

// supervise starts containerd again whenever it ends. Its containers, held by their shims, do not notice.
func (d *Daemon) supervise(ctx context.Context) {
	defer close(d.done)
	backoff := 200 * time.Millisecond
	for {
		began := time.Now()
		if err := d.current.wait(ctx); ctx.Err() != nil {
			return
		} else if err != nil {
			d.logger.Error("watching containerd", "error", err)
		}
		if time.Since(began) > time.Minute {
			backoff = 200 * time.Millisecond
		}
		d.logger.Error("containerd ended; starting it again", "retry_in", backoff, "log", d.lastLog())
		select {
		case <-time.After(backoff):
		case <-ctx.Done():
			return
		}
		backoff = min(2*backoff, 10*time.Second)
		p, err := d.spawn()
		if err != nil {
			d.logger.Error("containerd does not start", "error", err)
			continue
		}
		d.mu.Lock()
		d.current = p
		d.mu.Unlock()
	}
}

// lastLog is the end of containerd's log, in one line.
func (d *Daemon) lastLog() string {
	raw, err := os.ReadFile(d.paths.log())
	if err != nil {
		return err.Error()
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) > 600 {
		raw = raw[len(raw)-600:]
	}
	return strings.ReplaceAll(string(raw), "\n", "; ")
}
