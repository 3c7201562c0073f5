package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/reflection"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/api/schema"
	_ "github.com/orrery-io/orrery/services/internal/apidef" // the typed services' descriptors, for reflection
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Config is what a server serves.
type Config struct {
	Kinds []*registry.Kind
	// Endpoint gives the verbs of a kind that is stored; nil where there are none.
	Endpoint func(*registry.Kind) endpoint.Interface
	// Answers serve the kinds that are not stored, by group and resource.
	Answers map[apischema.GroupResource]Answerer
	// Documents serves the paths that are no resources: discovery, OpenAPI, the version.
	Documents Documents
	// Logs streams a container's log for pods/log.
	Logs Logs
	// Register adds services that have their own registration: node sessions.
	Register func(grpc.ServiceRegistrar)

	// TLS is the server's side of mutual TLS; nil serves plaintext, which only tests do.
	TLS *tls.Config
	// Authenticate says who calls; authn.Authenticate when nil.
	Authenticate Authenticate
	Authorizer   authz.Authorizer
	// Clock paces watches; the real one when nil.
	Clock clock.Clock
}

// Documents serves the paths that are no resources. found is false where there is no such document.
type Documents interface {
	Serve(path string, query url.Values, accept, ifNoneMatch string) (d schema.Document, found bool, err error)
}

// Logs streams the log of a pod's container as the query, that of PodLogOptions, asks: started is called once when it has begun,
// then send for each piece. Errors before started are answered as a Status.
type Logs func(ctx context.Context, namespace, pod string, query url.Values, started func() error, send func([]byte) error) error

// Server is the gRPC server of the api.
type Server struct {
	config    Config
	resources resources
	rpcs      map[string]rpc
	decoder   *negotiate.Decoder
	metrics   *metrics
	pacing    *pacing
	tracer    trace.Tracer
	grpc      *grpc.Server
	health    *health.Server
	// drain ends when the server begins to shut down: watches end then.
	drain context.Context
	stop  context.CancelFunc
}

// maxMessage bounds a request message. Objects over 3 MiB are refused with a Status of their own, which a message
// that gRPC itself turns away would not have; the rest is room for envelopes.
const maxMessage = 16 << 20

// New builds the server.
func New(c Config) *Server {
	if c.Authenticate == nil {
		c.Authenticate = authn.Authenticate
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	s := &Server{config: c, resources: resources{}, rpcs: map[string]rpc{}, metrics: newMetrics(), pacing: &pacing{clock: c.Clock}, tracer: telemetry.Tracer("api"), health: health.NewServer()}
	s.drain, s.stop = context.WithCancel(context.Background())
	s.decoder = negotiate.NewDecoder(negotiate.NewScheme(c.Kinds))
	for _, k := range c.Kinds {
		res := &resource{kind: k, view: negotiate.NewView(k), answer: c.Answers[apischema.GroupResource{Group: k.Group, Resource: k.Plural}]}
		if !k.NotStored {
			res.verbs = c.Endpoint(k)
		}
		s.resources[apischema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}] = res
	}
	s.grpc = grpc.NewServer(append(telemetry.ServerOptions("api"), s.options()...)...)
	s.registerTyped(s.grpc)
	s.registerResourceService(s.grpc)
	s.registerRest(s.grpc)
	if c.Register != nil {
		c.Register(s.grpc)
	}
	healthpb.RegisterHealthServer(s.grpc, s.health)
	s.health.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
	reflection.Register(s.grpc)
	return s
}

func (s *Server) options() []grpc.ServerOption {
	o := []grpc.ServerOption{
		grpc.ForceServerCodecV2(wire.Codec{}),
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.InitialWindowSize(1 << 20), grpc.InitialConnWindowSize(4 << 20),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
		// From the outside in: a request is counted with the code it leaves with, which is that of its panic too.
		grpc.ChainUnaryInterceptor(s.metrics.unary, errorsUnary, recoverUnary, s.authenticateUnary, s.authorizeUnary),
		grpc.ChainStreamInterceptor(s.metrics.stream, errorsStream, recoverStream, s.authenticateStream, s.authorizeStream),
	}
	if s.config.TLS != nil {
		o = append(o, grpc.Creds(credentials.NewTLS(s.config.TLS)))
	}
	return o
}

// Serve answers calls on l until Shutdown.
func (s *Server) Serve(l net.Listener) error { return s.grpc.Serve(l) }

// SetReady tells health checks whether to send calls here.
func (s *Server) SetReady(ready bool) {
	status := healthpb.HealthCheckResponse_NOT_SERVING
	if ready {
		status = healthpb.HealthCheckResponse_SERVING
	}
	s.health.SetServingStatus("", status)
}

// Shutdown drains: health says no, watches end so that their clients resume elsewhere, running requests finish. What is
// left when ctx ends is cut off.
func (s *Server) Shutdown(ctx context.Context) {
	s.health.Shutdown()
	s.stop()
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
	}
}

// Draining is done once the server shuts down; long conversations end with it.
func (s *Server) Draining() context.Context { return s.drain }
