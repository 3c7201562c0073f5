package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
)

// Config of a cluster.
type Config struct {
	// Binary is the program, Dir the folder for data, logs and certificates.
	Binary, Dir string
	Members     int
	// FaultyDisks puts each data folder on a disk that can go wrong; it is in memory, so a sync costs next to nothing.
	FaultyDisks bool
	// SnapshotEntries and TrailingEntries are small so that snapshots happen in a short run.
	SnapshotEntries, TrailingEntries uint64
	// StoreFlags are added to the command line of each member.
	StoreFlags []string
	Logger     *slog.Logger
}

// Cluster is all members and the clients' ends of the connections to them.
type Cluster struct {
	Members []*Member
	// Balanced know all members.
	Balanced []*client.Client

	cfg    Config
	net    *Network
	pkiDir string
}

// balancedClients is how many clients know all members.
const balancedClients = 2

// New makes network, certificates and disks, and starts the members.
func New(cfg Config) (_ *Cluster, err error) {
	c := &Cluster{cfg: cfg, pkiDir: filepath.Join(cfg.Dir, "pki")}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	var addresses []string
	ips := []net.IP{net.ParseIP(Host)}
	for i := range cfg.Members {
		addresses = append(addresses, fmt.Sprintf("10.77.0.%d", 11+i))
		ips = append(ips, net.ParseIP(addresses[i]))
	}
	if c.net, err = NewNetwork(addresses); err != nil {
		return nil, err
	}
	layout, err := pki.Ensure(c.pkiDir, pki.Options{IPs: ips})
	if err != nil {
		return nil, err
	}
	var endpoints []string
	for i, a := range addresses {
		m := &Member{Name: fmt.Sprintf("s%d", i+1), Address: a, c: c, logPath: filepath.Join(cfg.Dir, fmt.Sprintf("s%d.log", i+1))}
		m.folder = filepath.Join(cfg.Dir, m.Name)
		if cfg.FaultyDisks {
			if m.Disk, err = faultfs.Mount(m.folder, faultfs.Options{Journaled: true}); err != nil {
				return nil, err
			}
		} else if err := os.MkdirAll(m.folder, 0o755); err != nil {
			return nil, err
		}
		if m.Client, err = c.dial(layout, m.ClientAddress()); err != nil {
			return nil, err
		}
		endpoints = append(endpoints, m.ClientAddress())
		c.Members = append(c.Members, m)
	}
	for range balancedClients {
		b, err := c.dial(layout, endpoints...)
		if err != nil {
			return nil, err
		}
		c.Balanced = append(c.Balanced, b)
	}
	for _, m := range c.Members {
		if err := m.Start(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Cluster) dial(layout *pki.Layout, endpoints ...string) (*client.Client, error) {
	tls, err := layout.ClientTLS(pki.API, "")
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{Endpoints: endpoints, TLS: tls})
}

// Close ends all processes and gives everything back.
func (c *Cluster) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	for _, b := range c.Balanced {
		errs = append(errs, b.Close())
	}
	for _, m := range c.Members {
		if m.Client != nil {
			errs = append(errs, m.Client.Close())
		}
		errs = append(errs, m.Resume(), m.Kill(ctx))
		if m.Disk != nil {
			errs = append(errs, m.Disk.Close())
		}
	}
	if c.net != nil {
		errs = append(errs, c.net.Close())
	}
	return errors.Join(errs...)
}

// Network is the members' network.
func (c *Cluster) Network() *Network { return c.net }

// Status asks the member for its state.
func (m *Member) Status(ctx context.Context) (*storev1.StatusResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	return m.Client.Maintenance().Status(ctx, &storev1.StatusRequest{})
}

// Leader is the member that leads by the newest term of which one of them knows. It waits until there is one.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	for {
		var leader *Member
		var term uint64
		for _, m := range c.Members {
			if !m.Running() {
				continue
			}
			if s, err := m.Status(ctx); err == nil && s.Leader && s.RaftTerm > term {
				leader, term = m, s.RaftTerm
			}
		}
		if leader != nil {
			return leader, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("no member leads: %w", ctx.Err())
		}
	}
}

// Others are all members but one.
func (c *Cluster) Others(m *Member) (out []*Member) {
	for _, o := range c.Members {
		if o != m {
			out = append(out, o)
		}
	}
	return out
}

// probeKey is written to see whether the store works.
const probeKey = "/registry/probe"

// Writable waits until a write and a linearizable read through every member have succeeded.
func (c *Cluster) Writable(ctx context.Context) error {
	var wg sync.WaitGroup
	errs := make([]error, len(c.Members))
	for i, m := range c.Members {
		wg.Go(func() { errs[i] = m.writable(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *Member) writable(ctx context.Context) error {
	var last error
	for {
		if err := m.supervise(); err != nil {
			return err
		}
		call, cancel := context.WithTimeout(ctx, 2*time.Second)
		// A comparison that never holds goes through the log like a write and leaves no trace in the round's history.
		_, err := m.Client.Txn(call, kv.TxnRequest{
			Compare: []kv.Compare{{Key: []byte(probeKey), Target: kv.CompareVersion, Result: kv.Less, Number: 0}},
			Then:    []kv.Op{{Put: &kv.PutRequest{Key: []byte(probeKey)}}},
		})
		if err == nil {
			_, err = m.Client.Revision(call)
		}
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-time.After(25 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s does not serve writes: %w", m.Name, last)
		}
	}
}
