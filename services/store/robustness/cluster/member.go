package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs/disk"
)

// Ports of a member.
const (
	clientPort  = "2379"
	raftPort    = "2380"
	metricsPort = "2381"
)

// Member is one server of the store: a process, its disk and its place in the network. It outlives its process.
type Member struct {
	Name, Address string
	// Disk is what its data is on, nil for a plain folder.
	Disk *faultfs.FS
	// Client reaches this member alone.
	Client *client.Client

	c       *Cluster
	folder  string // the disk's mount point, or the plain folder
	logPath string

	mu sync.Mutex
	// proc is the running process, nil when there is none; ended is closed when it has ended.
	proc  *os.Process
	ended chan struct{}
	// joins makes the next start wait to be added. mayEnd: its process may end by itself without that being a surprise;
	// supervised: it is started again then.
	joins, mayEnd, supervised bool
	surprises                 []string
	scanned                   int64 // how much of the log look has seen
}

// ClientAddress is where clients reach it, RaftAddress where members do.
func (m *Member) ClientAddress() string { return m.Address + ":" + clientPort }

// RaftAddress is where members reach it.
func (m *Member) RaftAddress() string { return m.Address + ":" + raftPort }

// Start starts the process. It does not wait until it serves.
func (m *Member) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		return fmt.Errorf("%s runs already", m.Name)
	}
	log, err := os.OpenFile(m.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(m.c.cfg.Binary, m.args()...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "GOTRACEBACK=all")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt of the run is not for it
	fmt.Fprintf(log, "--- start of %s at %s\n", m.Name, time.Now().Format(time.StampMilli))
	if err := m.c.net.start(m.Address, cmd); err != nil {
		return fmt.Errorf("starting %s: %w", m.Name, err)
	}
	m.mayEnd = false
	ended := make(chan struct{})
	m.proc, m.ended = cmd.Process, ended
	go func() {
		err := cmd.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		if !m.mayEnd {
			m.surprises = append(m.surprises, fmt.Sprintf("%s ended by itself: %v: %s", m.Name, err, lastLine(m.logPath)))
		}
		m.proc = nil
		close(ended)
	}()
	return nil
}

func (m *Member) args() []string {
	cfg := &m.c.cfg
	args := []string{"store", "--name", m.Name, "--data-dir", filepath.Join(m.folder, "store"), "--pki-dir", m.c.pkiDir,
		"--listen", m.ClientAddress(), "--raft-listen", m.RaftAddress(), "--metrics-listen", m.Address + ":" + metricsPort,
		"--retention", "-1s", "--snapshot-entries", fmt.Sprint(cfg.SnapshotEntries), "--trailing-entries", fmt.Sprint(cfg.TrailingEntries)}
	args = append(args, cfg.StoreFlags...)
	if m.joins {
		return append(args, "--join")
	}
	for _, other := range m.c.Members {
		args = append(args, "--initial-member", other.Name+"="+other.RaftAddress())
	}
	return args
}

// Running reports whether there is a process.
func (m *Member) Running() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc != nil
}

// MayEnd says that the process may end by itself from now on, until it is started again or the round is over. Writable
// starts it then, as a supervisor would.
func (m *Member) MayEnd() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mayEnd, m.supervised = true, true
}

// supervise starts the process when it has ended as it might.
func (m *Member) supervise() error {
	m.mu.Lock()
	ended := m.supervised && m.proc == nil
	m.mu.Unlock()
	if !ended {
		return nil
	}
	return m.Start()
}

// Settle ends what MayEnd began, for all members.
func (c *Cluster) Settle() {
	for _, m := range c.Members {
		m.mu.Lock()
		m.mayEnd, m.supervised = false, false
		m.mu.Unlock()
	}
}

func (m *Member) signal(s os.Signal) (<-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil {
		return m.ended, nil
	}
	if s != syscall.SIGSTOP && s != syscall.SIGCONT {
		m.mayEnd = true
	}
	return m.ended, m.proc.Signal(s)
}

// Kill ends the process at once and waits until it is gone.
func (m *Member) Kill(ctx context.Context) error {
	ended, err := m.signal(syscall.SIGKILL)
	if err != nil {
		return err
	}
	return m.gone(ctx, ended)
}

// Stop asks the process to end in order, and waits.
func (m *Member) Stop(ctx context.Context) error {
	ended, err := m.signal(syscall.SIGTERM)
	if err != nil {
		return err
	}
	return m.gone(ctx, ended)
}

func (m *Member) gone(ctx context.Context, ended <-chan struct{}) error {
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s did not end: %w", m.Name, ctx.Err())
	}
}

// Pause stops the process where it stands, Resume lets it go on.
func (m *Member) Pause() error { _, err := m.signal(syscall.SIGSTOP); return err }

// Resume ends a Pause.
func (m *Member) Resume() error { _, err := m.signal(syscall.SIGCONT); return err }

// LosePower kills the process and what was not synced to its disk is lost, all of it or a part by seed.
func (m *Member) LosePower(ctx context.Context, seed uint64) error {
	if m.Disk == nil {
		return errors.New("plain folders cannot lose what was not synced: run with faulty disks")
	}
	if err := m.Kill(ctx); err != nil {
		return err
	}
	loss := disk.Loss{Mode: disk.Drop, Seed: seed}
	if seed%2 == 1 {
		loss.Mode = disk.Tear
	}
	return m.Disk.Crash(loss)
}

// Wipe empties the data folder; the next start waits to be added to the cluster.
func (m *Member) Wipe() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		return fmt.Errorf("%s runs: its data cannot be wiped", m.Name)
	}
	m.joins = true
	return os.RemoveAll(filepath.Join(m.folder, "store"))
}

// HealDisk ends every fault of the disk.
func (m *Member) HealDisk() error {
	if m.Disk == nil {
		return nil
	}
	return errors.Join(m.Disk.SetSyncDelay(0), m.Disk.FailSyncs(0, false), m.Disk.SetFree(-1), m.Disk.SetStuck(false))
}
