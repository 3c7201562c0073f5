package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Service is a gateway.
type Service struct {
	config   Config
	log      *slog.Logger
	clock    clock.WithTicker
	listener net.Listener
	pool     *pool
	mux      *runtime.ServeMux
	connects apiv1.ConnectServiceClient
	health   *health
	metrics  *metrics
	tracer   trace.Tracer
	tracing  bool

	// draining ends when the gateway begins to stop: long-running requests end with it.
	draining context.Context
	drain    context.CancelFunc
	// upgraded counts connections that left the HTTP server's hands.
	upgraded sync.WaitGroup
	ready    chan struct{}
}

// New opens the listener and prepares the connections to the api, which need not be up yet. Run serves; without Run, call
// Close.
func New(config Config) (*Service, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	pool, err := newPool(config.APIAddrs, config.APIConnections, config.APITLS)
	if err != nil {
		return nil, err
	}
	s := &Service{
		config:   config,
		log:      config.Logger,
		clock:    config.Clock,
		listener: config.Listener,
		pool:     pool,
		connects: apiv1.NewConnectServiceClient(pool),
		metrics:  newMetrics(config.Clock),
		tracer:   telemetry.Tracer("gateway"),
		tracing:  telemetry.Enabled(),
		ready:    make(chan struct{}),
	}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.health = newHealth(pool, func() bool { return s.draining.Err() != nil })
	if s.mux, err = newMux(context.Background(), apiv1.NewRestServiceClient(pool)); err != nil {
		return nil, errors.Join(err, pool.close())
	}
	if s.listener == nil {
		if s.listener, err = net.Listen("tcp", config.ListenAddr); err != nil {
			return nil, errors.Join(fmt.Errorf("gateway: cannot listen on %s (is another gateway running, or the port taken? choose another with --listen): %w", config.ListenAddr, err), pool.close())
		}
	}
	return s, nil
}

// Addr is the address that the gateway listens on.
func (s *Service) Addr() string { return s.listener.Addr().String() }

// Ready is closed when the gateway accepts requests and the api has answered for the first time.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Close gives up a gateway that was never run.
func (s *Service) Close() error {
	s.drain()
	return errors.Join(s.listener.Close(), s.pool.close())
}

// Run serves until ctx ends, then drains: new requests are refused, watches and upgrades end, running requests are waited
// for as long as Config.DrainTimeout.
func (s *Service) Run(ctx context.Context) error {
	server := s.server()
	failed := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() { failed <- server.ServeTLS(s.listener, "", "") })
	waiting, stopWaiting := context.WithCancel(ctx)
	running.Go(func() { s.awaitAPI(waiting) })
	s.log.Info("serving", "addr", s.Addr())

	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("gateway: serving %s: %w", s.Addr(), err)
	case <-ctx.Done():
	}
	stopWaiting()
	s.drain()
	// The deadline must outlive ctx, which has ended.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.config.DrainTimeout)
	defer cancel()
	if shutdownErr := server.Shutdown(stop); shutdownErr != nil {
		s.log.Warn("requests were cut off: they outlasted the time for draining", "timeout", s.config.DrainTimeout)
		if closeErr := server.Close(); closeErr != nil {
			s.log.Warn("closing connections", "error", closeErr)
		}
	}
	s.upgraded.Wait() // their context ended with draining
	running.Wait()
	return errors.Join(err, s.pool.close())
}

// awaitAPI closes ready at the api's first answer.
func (s *Service) awaitAPI(ctx context.Context) {
	ticker := s.clock.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if apiServes(ctx, s.pool) == nil {
			close(s.ready)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

func (s *Service) server() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	tlsConfig := s.config.ServerTLS.Clone()
	tlsConfig.NextProtos = []string{"h2", "http/1.1"}
	if tlsConfig.MinVersion == 0 {
		tlsConfig.MinVersion = tls.VersionTLS12
	}
	return &http.Server{
		Handler:           s,
		TLSConfig:         tlsConfig,
		Protocols:         protocols,
		ReadHeaderTimeout: 32 * time.Second,
		IdleTimeout:       3 * time.Minute,
		MaxHeaderBytes:    1 << 20,
		HTTP2: &http.HTTP2Config{
			// One client's informers are all streams of one connection.
			MaxConcurrentStreams: 1000,
			MaxReadFrameSize:     1 << 20,
			// Bodies have at most 3 MiB: several fit, one never waits for a window.
			MaxReceiveBufferPerStream:     4 << 20,
			MaxReceiveBufferPerConnection: 16 << 20,
			// A peer that vanished is noticed, although its watches never write.
			SendPingTimeout: 30 * time.Second,
			PingTimeout:     15 * time.Second,
		},
		ErrorLog: slog.NewLogLogger(quiet{s.log.Handler()}, slog.LevelWarn),
	}
}

// quiet lowers what any stranger can cause, such as a broken TLS handshake, to debug.
type quiet struct{ slog.Handler }

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "TLS handshake error") || strings.Contains(r.Message, "URL query contains semicolon") {
		r.Level = slog.LevelDebug
		if !q.Enabled(ctx, r.Level) {
			return nil
		}
	}
	return q.Handler.Handle(ctx, r)
}
