package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"time"

	"github.com/orrery-io/orrery/services/api"
	"github.com/orrery-io/orrery/services/controllers"
	"github.com/orrery-io/orrery/services/gateway"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/scheduler"
	"github.com/orrery-io/orrery/services/store"
)

// Names of the services; a node agent's is its node's.
const (
	Store       = "store"
	API         = "api"
	Gateway     = "gateway"
	Controllers = "controllers"
	Scheduler   = "scheduler"
	// Node is the service whose spans a node agent makes.
	Node = "node"
)

// stopTimeout is how long a service may take to end.
const stopTimeout = 30 * time.Second

// runner is what every service is.
type runner interface {
	Run(ctx context.Context) error
	Ready() <-chan struct{}
}

// part is one service, now running or not.
type part struct {
	name  string
	build func() (runner, error)

	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// plan lists the services in the order in which they start.
func (c *Cluster) plan() []*part {
	parts := []*part{
		{name: Store, build: c.newStore},
		{name: API, build: c.newAPI},
		{name: Gateway, build: c.newGateway},
		{name: Controllers, build: c.newControllers},
		{name: Scheduler, build: c.newScheduler},
	}
	for i, name := range c.nodeNames() {
		parts = append(parts, &part{name: name, build: func() (runner, error) { return c.newNode(i, name) }})
	}
	return slices.DeleteFunc(parts, func(p *part) bool { return slices.Contains(c.options.Without, p.name) })
}

func (c *Cluster) newStore() (runner, error) {
	server, err := c.PKI.ServerTLS(pki.Store)
	if err != nil {
		return nil, err
	}
	client, err := c.PKI.ClientTLS(pki.Store, "localhost")
	if err != nil {
		return nil, err
	}
	return store.New(store.Config{DataDir: filepath.Join(c.Dir, "store"), ListenAddr: c.addr.store, RaftAddr: c.addr.raft, TLS: &store.TLS{Server: server, Client: client}, Logger: c.logs.logger})
}

func (c *Cluster) newAPI() (runner, error) {
	server, err := c.PKI.ServerTLS(pki.API)
	if err != nil {
		return nil, err
	}
	client, err := c.PKI.ClientTLS(pki.API, "localhost")
	if err != nil {
		return nil, err
	}
	return api.New(api.Config{ListenAddr: c.addr.api, StoreEndpoints: []string{c.addr.store}, StoreTLS: client, ServerTLS: server, Logger: c.logs.logger})
}

func (c *Cluster) newGateway() (runner, error) {
	server, err := c.PKI.ServerTLSOptional(pki.Gateway)
	if err != nil {
		return nil, err
	}
	client, err := c.PKI.ClientTLS(pki.Gateway, "localhost")
	if err != nil {
		return nil, err
	}
	return gateway.New(gateway.Config{ListenAddr: c.addr.gateway, APIAddrs: []string{c.addr.api}, ServerTLS: server, APITLS: client, Logger: c.logs.logger})
}

func (c *Cluster) newControllers() (runner, error) {
	config, err := c.clientConfig(pki.Controllers)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.PKI.CAFile())
	if err != nil {
		return nil, err
	}
	return controllers.New(controllers.Config{API: config, RootCA: authority, Identity: "controllers", LeaderElect: true, Logger: c.logs.logger.With("service", Controllers)})
}

func (c *Cluster) newScheduler() (runner, error) {
	config, err := c.clientConfig(pki.Scheduler)
	if err != nil {
		return nil, err
	}
	return scheduler.New(scheduler.Config{API: config, Identity: "scheduler", Logger: c.logs.logger.With("service", Scheduler)})
}

// clientConfig is how the holder of a certificate finds the api.
func (c *Cluster) clientConfig(identity string) (apiclient.Config, error) {
	tls, err := c.PKI.ClientTLS(identity, "localhost")
	if err != nil {
		return apiclient.Config{}, err
	}
	return apiclient.Config{Addresses: []string{c.addr.api}, TLS: tls, UserAgent: "orrery-" + identity, Service: identity}, nil
}

// start builds and runs the service and waits until it is ready.
func (p *part) start(timeout time.Duration) error {
	service, err := p.build()
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.done, p.err = cancel, make(chan struct{}), nil
	go func() {
		defer close(p.done)
		defer func() {
			if r := recover(); r != nil {
				p.err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		p.err = service.Run(ctx)
	}()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-service.Ready():
		return nil
	case <-p.done:
		return fmt.Errorf("%s ended before it was ready: %w", p.name, p.err)
	case <-timer.C:
		return fmt.Errorf("%s was not ready after %v", p.name, timeout)
	}
}

// stop ends the service; one that does not run is left alone.
func (p *part) stop() error {
	if p.cancel == nil {
		return nil
	}
	early := false
	select {
	case <-p.done:
		early = true
	default:
	}
	p.cancel()
	p.cancel = nil
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
		return fmt.Errorf("%s did not end within %v", p.name, stopTimeout)
	}
	switch {
	case early:
		return fmt.Errorf("%s ended by itself: %w", p.name, errors.Join(p.err, errors.New("nobody asked it to")))
	case p.err != nil && !errors.Is(p.err, context.Canceled):
		return fmt.Errorf("stopping %s: %w", p.name, p.err)
	}
	return nil
}

func (c *Cluster) part(service string) *part {
	c.t.Helper()
	i := slices.IndexFunc(c.parts, func(p *part) bool { return p.name == service })
	if i < 0 {
		c.t.Fatalf("the cluster has no service %q", service)
	}
	return c.parts[i]
}

// Services are the names of the cluster's services in the order in which they start.
func (c *Cluster) Services() []string {
	names := make([]string, len(c.parts))
	for i, p := range c.parts {
		names[i] = p.name
	}
	return names
}

// Kill ends one service and waits until nothing of it is left; the others are not told.
func (c *Cluster) Kill(service string) {
	c.t.Helper()
	if err := c.part(service).stop(); err != nil {
		c.t.Fatalf("killing %s: %v", service, err)
	}
}

// Run starts a killed service on its old port and data, and waits until it is ready.
func (c *Cluster) Run(service string) {
	c.t.Helper()
	if err := c.part(service).start(c.options.StartTimeout); err != nil {
		c.t.Fatalf("starting again: %v", err)
	}
}

// Restart is Kill and Run.
func (c *Cluster) Restart(service string) {
	c.t.Helper()
	c.Kill(service)
	c.Run(service)
}
