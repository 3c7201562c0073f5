package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/etcd"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/raftnode"
	"github.com/orrery-io/orrery/services/store/server"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Service is one running member with its gRPC server.
type Service struct {
	cfg      Config
	listener net.Listener
	node     *raftnode.Node
	grpc     *grpc.Server
	store    *server.Store
	etcd     *etcd.Server
	health   *health.Server
	calls    *server.Calls
	ready    chan struct{}
}

// New takes the ports and the data folder and starts the member; calls are answered once Run is called. Its errors say
// what is in the way. A service that was made must be run, or closed.
func New(cfg Config) (_ *Service, err error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg, ready: make(chan struct{}), health: health.NewServer(), calls: server.NewCalls()}
	if s.listener, err = listen("clients", cfg.ListenAddr); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.listener.Close()
		}
	}()
	raftListener, err := listen("its peers", cfg.RaftAddr)
	if err != nil {
		return nil, err
	}
	if s.node, err = raftnode.Open(s.nodeConfig(raftListener)); err != nil {
		return nil, err
	}
	s.health.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	s.grpc = grpc.NewServer(s.serverOptions()...)
	s.store = server.NewStore(s.node, cfg.Clock)
	storev1.RegisterStoreServiceServer(s.grpc, s.store)
	storev1.RegisterMembershipServiceServer(s.grpc, server.NewMembership(s.node, false))
	storev1.RegisterMaintenanceServiceServer(s.grpc, server.NewMaintenance(s.node, false))
	s.etcd = etcd.Register(s.grpc, etcd.Config{Node: s.node, TLS: cfg.TLS != nil, Clock: cfg.Clock})
	healthv1.RegisterHealthServer(s.grpc, s.health)
	reflection.Register(s.grpc)
	if cfg.Metrics != nil {
		registerMetrics(cfg.Metrics, s.node)
	}
	return s, nil
}

func (s *Service) nodeConfig(l net.Listener) raftnode.Config {
	cfg := &s.cfg
	nc := raftnode.Config{
		Name: cfg.Name, DataDir: cfg.DataDir, LogStore: cfg.LogStore, Version: cfg.Version, Listener: l, AdvertiseAddr: cfg.RaftAdvertiseAddr, Join: cfg.Join,
		ClientAddress: s.Addr(), QuotaBytes: cfg.QuotaBytes, Retention: cfg.Retention, HistoryBytes: cfg.HistoryBytes,
		ProgressInterval: cfg.ProgressInterval, HeartbeatTimeout: cfg.ElectionTimeout,
		StallLimit: cfg.StallLimit, CheckInterval: cfg.CheckInterval, HistoryRevisions: cfg.HistoryRevisions, Clock: cfg.Clock, Logger: cfg.Logger,
		SnapshotEntries: cfg.SnapshotEntries, TrailingEntries: cfg.TrailingEntries,
		RegisterPeerServices: func(g *grpc.Server, n *raftnode.Node) {
			storev1.RegisterMembershipServiceServer(g, server.NewMembership(n, true))
			storev1.RegisterMaintenanceServiceServer(g, server.NewMaintenance(n, true))
		},
	}
	for _, m := range cfg.InitialMembers {
		nc.InitialMembers = append(nc.InitialMembers, raftnode.Peer{Name: m.Name, Address: m.RaftAddr})
	}
	if cfg.TLS != nil {
		nc.ServerTLS, nc.ClientTLS, nc.AllowPeer = cfg.TLS.Server, cfg.TLS.Client, cfg.AllowedPeers
	}
	return nc
}

func (s *Service) serverOptions() []grpc.ServerOption {
	opts := append(telemetry.ServerOptions("store"),
		grpc.MaxRecvMsgSize(server.MaxMessage),
		grpc.MaxSendMsgSize(256<<20),
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.WriteBufferSize(server.Buffer), grpc.ReadBufferSize(server.Buffer), experimental.BufferPool(wire.Pool),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
	)
	opts = append(opts, s.calls.Options()...)
	if s.cfg.TLS != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(s.cfg.TLS.Server)))
		opts = append(opts, server.Authorize(s.cfg.AllowedClients)...)
	}
	return opts
}

func listen(whom, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("the store cannot listen for %s on %s: the port is taken by another process: stop that one or choose another port", whom, addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("the store cannot listen for %s on %s: the port needs more rights than this process has: choose one above 1023", whom, addr)
	}
	return nil, fmt.Errorf("the store cannot listen for %s on %s: %w: check the address", whom, addr, err)
}

// Addr is the address for clients.
func (s *Service) Addr() string {
	if s.cfg.AdvertiseAddr != "" {
		return s.cfg.AdvertiseAddr
	}
	return s.listener.Addr().String()
}

// KV is the member itself, for callers in this process.
func (s *Service) KV() kv.KV { return s.node }

// Node is the member, for tests and operator commands in this process.
func (s *Service) Node() *raftnode.Node { return s.node }

// Ready is closed when the member serves everything that was acknowledged before it started.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Run serves until ctx ends, then drains and stops. It returns nil after an orderly stop and the cause otherwise. Every
// goroutine of the service has ended when it returns.
func (s *Service) Run(ctx context.Context) error {
	var done sync.WaitGroup
	inner, cancel := context.WithCancel(ctx)
	served := make(chan error, 1)
	done.Go(func() { served <- s.grpc.Serve(s.listener) })
	done.Go(func() {
		if s.node.WaitReady(inner) == nil {
			close(s.ready)
			s.cfg.Logger.Info("the store serves", "address", s.Addr(), "revision", s.node.Status().Revision)
			s.tellHealth(inner)
		}
	})
	var err error
	select {
	case <-ctx.Done():
	case err = <-s.node.Failed():
	case err = <-served:
	}
	cancel()
	// A member that cannot go on has nothing to wait for: while it lingers the others reckon with it.
	s.drain(err == nil)
	err = errors.Join(err, s.node.Close())
	done.Wait()
	return err
}

// tellHealth tells clients whether this member is fit to serve, until ctx ends.
func (s *Service) tellHealth(ctx context.Context) {
	for {
		changed := s.node.ProblemChanged()
		status := healthv1.HealthCheckResponse_SERVING
		if s.node.Problem() != nil {
			status = healthv1.HealthCheckResponse_NOT_SERVING
		}
		s.health.SetServingStatus("", status)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// drain tells clients to go elsewhere and closes the port. In good order it hands over the leadership and lets calls end
// first.
func (s *Service) drain(inOrder bool) {
	s.health.Shutdown() // first: balancers stop sending
	s.store.Drain()
	if inOrder {
		s.node.StepDown()
	}
	s.node.EndWatches() // their clients resume on another member
	s.etcd.Stop()
	if inOrder {
		s.calls.Drain()
		select {
		case <-s.calls.Idle():
		case <-s.cfg.Clock.After(s.cfg.DrainTimeout):
			s.cfg.Logger.Warn("some calls did not end in time, they are cut off", "timeout", s.cfg.DrainTimeout)
		}
	}
	s.grpc.Stop()
}

// Close ends a service that was never run.
func (s *Service) Close() error {
	s.grpc.Stop()
	return errors.Join(s.listener.Close(), s.node.Close())
}
