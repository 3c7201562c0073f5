package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/orrery-io/orrery/services/internal/pki"
)

// Options of a cluster; the zero value is a control plane without nodes.
type Options struct {
	// Nodes is how many node agents run, node-1, node-2 and so on, over simulated containers.
	Nodes int
	// Identities get certificates besides the components' own; see Cluster.Client.
	Identities []pki.Identity
	// Without leaves out services, by name.
	Without []string
	// StartTimeout bounds how long each service may take to get ready; 0 means a minute.
	StartTimeout time.Duration
}

// Cluster is a running cluster. Its methods are for the test's own goroutine, save those of clients.go, which are for any.
type Cluster struct {
	// Dir is the data folder, laid out as that of `orrery up`.
	Dir string
	// PKI is the cluster's authority and everybody's certificates.
	PKI *pki.Layout
	// Kubeconfig is a file for the administrator.
	Kubeconfig string

	t       testing.TB
	options Options
	addr    addresses
	parts   []*part
	logs    *logs
	stopped bool

	mu      sync.Mutex
	closers []func() error
}

// addresses are chosen once, so that a restarted service is found where it was.
type addresses struct{ store, raft, api, gateway string }

// Start starts a cluster and waits until every service is ready, and every node too. The test's end stops it.
func Start(t testing.TB, options Options) *Cluster {
	t.Helper()
	if options.StartTimeout == 0 {
		options.StartTimeout = time.Minute
	}
	before := goleak.IgnoreCurrent()
	c := &Cluster{Dir: t.TempDir(), t: t, options: options}
	if err := c.prepare(); err != nil {
		t.Fatalf("preparing a cluster: %v", err)
	}
	t.Cleanup(func() {
		c.Stop()
		if !t.Failed() {
			goleak.VerifyNone(t, before, goleak.IgnoreTopFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
				// Idle connections of HTTP clients that a test made end by themselves.
				goleak.IgnoreTopFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreTopFunction("net/http.(*persistConn).writeLoop"),
				goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"))
		}
	})
	for _, p := range c.parts {
		if err := p.start(options.StartTimeout); err != nil {
			t.Fatalf("starting a cluster: %v", err)
		}
	}
	return c
}

func (c *Cluster) prepare() (err error) {
	if c.logs, err = openLogs(filepath.Join(c.Dir, "cluster.log")); err != nil {
		return err
	}
	if c.addr, err = chooseAddresses(); err != nil {
		return err
	}
	if c.PKI, err = pki.Ensure(filepath.Join(c.Dir, "pki"), pki.Options{Nodes: c.nodeNames(), Extra: c.options.Identities}); err != nil {
		return err
	}
	c.Kubeconfig = filepath.Join(c.Dir, "kubeconfig")
	if err := c.PKI.WriteKubeconfig(c.Kubeconfig, pki.Admin, "https://"+c.addr.gateway); err != nil {
		return err
	}
	c.parts = c.plan()
	return nil
}

// Stop ends the services, the last started first; the test's end does it otherwise. A service that had ended by itself fails the test.
func (c *Cluster) Stop() {
	if c.stopped {
		return
	}
	c.stopped = true
	c.mu.Lock()
	closers := c.closers
	c.closers = nil
	c.mu.Unlock()
	var errs []error
	for _, f := range closers {
		errs = append(errs, f())
	}
	for i := len(c.parts) - 1; i >= 0; i-- {
		errs = append(errs, c.parts[i].stop())
	}
	if err := errors.Join(errs...); err != nil {
		c.t.Errorf("stopping the cluster: %v", err)
	}
	if c.t.Failed() {
		c.t.Logf("the services' last log lines (all of them are in %s while the test runs):\n%s", c.logs.name, c.logs.tail(150))
	}
	c.logs.close()
}

func (c *Cluster) onStop(f func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closers = append(c.closers, f)
}

// nodeNames are node-1, node-2 and so on.
func (c *Cluster) nodeNames() []string {
	names := make([]string, c.options.Nodes)
	for i := range names {
		names[i] = "node-" + strconv.Itoa(i+1)
	}
	return names
}

// chooseAddresses finds free ports below the range that outgoing connections take theirs from: they are still free when a service is started again.
func chooseAddresses() (addresses, error) {
	var a addresses
	var open []net.Listener
	defer func() {
		for _, l := range open {
			_ = l.Close() // only held so that none is chosen twice
		}
	}()
	for _, address := range []*string{&a.store, &a.raft, &a.api, &a.gateway} {
		for tries := 0; *address == ""; tries++ {
			l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(12000+rand.IntN(20000))))
			if err == nil {
				open = append(open, l)
				*address = l.Addr().String()
			} else if tries == 100 {
				return a, fmt.Errorf("no free port: %w", err)
			}
		}
	}
	return a, nil
}

// Context is over when the test has taken as long as the given time: it bounds waiting that would otherwise hang.
func (c *Cluster) Context(limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	c.t.Cleanup(cancel)
	return ctx
}
