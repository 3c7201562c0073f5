package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// tracer is asked for anew by each span: what it is follows from what the process set up after this package was loaded.
func tracer() trace.Tracer { return telemetry.Tracer("node") }

// Back-off between attempts to open a session.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 10 * time.Second
	// maxStreams bounds what one session serves at a time.
	maxStreams = 256
)

// Config of the sessions.
type Config struct {
	NodeName string
	Version  string
	// API is where the api is: one session with each address.
	API     apiclient.Config
	Runtime cri.Runtime
	Reader  *podstate.Reader
	// Pod finds a pod of this node.
	Pod    func(namespace, name string) (*corev1.Pod, bool)
	Clock  clock.Clock
	Logger *slog.Logger
}

// refusal is an error with the Kubernetes Status reason that the client sees.
type refusal struct {
	reason  metav1.StatusReason
	message string
}

func (r *refusal) Error() string { return r.message }

func refuse(reason metav1.StatusReason, format string, args ...any) error {
	return &refusal{reason, fmt.Sprintf(format, args...)}
}

// Run keeps a session with every address until ctx is over.
func Run(ctx context.Context, config Config) error {
	var group sync.WaitGroup
	for _, address := range config.API.Addresses {
		one := config.API
		one.Addresses = []string{address}
		client, closeClient, err := apiclient.Dial(one)
		if err != nil {
			return err
		}
		group.Go(func() {
			defer closeClient()
			keep(ctx, config, nodev1.NewNodeServiceClient(client.Conn()), address)
		})
	}
	group.Wait()
	return ctx.Err()
}

// RunOn keeps one session over an existing connection, for agents that share one.
func RunOn(ctx context.Context, config Config, conn grpc.ClientConnInterface) error {
	keep(ctx, config, nodev1.NewNodeServiceClient(conn), "shared")
	return ctx.Err()
}

func keep(ctx context.Context, config Config, service nodev1.NodeServiceClient, address string) {
	logger := config.Logger.With("api", address)
	retry := minRetry
	for ctx.Err() == nil {
		s := &session{config: config, service: service, logger: logger, streams: map[string]context.CancelFunc{}}
		welcome, err := s.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if welcome {
			retry = minRetry
		}
		logger.Debug("session ended, opening another", "error", err, "retry_in", retry)
		select {
		case <-config.Clock.After(retry/2 + rand.N(retry)):
		case <-ctx.Done():
		}
		retry = min(2*retry, maxRetry)
	}
}

// session is one open session.
type session struct {
	config  Config
	service nodev1.NodeServiceClient
	logger  *slog.Logger

	// sending guards Send, which only one goroutine may call at a time.
	sending sync.Mutex
	mu      sync.Mutex
	streams map[string]context.CancelFunc
}

// run opens the session and serves it to its end. welcome tells whether the api accepted it.
func (s *session) run(ctx context.Context) (welcome bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	stream, err := s.service.Session(ctx)
	if err != nil {
		return false, err
	}
	send := func(m *nodev1.SessionRequest) error {
		s.sending.Lock()
		defer s.sending.Unlock()
		return stream.Send(m)
	}
	if err := send(&nodev1.SessionRequest{Message: &nodev1.SessionRequest_Hello{Hello: &nodev1.Hello{NodeName: s.config.NodeName, AgentVersion: s.config.Version}}}); err != nil {
		return false, err
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return welcome, nil
		}
		if err != nil {
			return welcome, err
		}
		switch m := m.Message.(type) {
		case *nodev1.SessionResponse_Welcome:
			welcome = true
			s.logger.Debug("session open")
		case *nodev1.SessionResponse_Open:
			group.Go(func() { s.open(ctx, m.Open, send) })
		case *nodev1.SessionResponse_Cancel:
			s.mu.Lock()
			if cancel := s.streams[m.Cancel.GetStreamId()]; cancel != nil {
				cancel()
			}
			s.mu.Unlock()
		}
	}
}

// open serves one stream, or refuses it.
func (s *session) open(ctx context.Context, open *nodev1.OpenStream, send func(*nodev1.SessionRequest) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	full := len(s.streams) >= maxStreams
	if !full {
		s.streams[open.GetStreamId()] = cancel
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.streams, open.GetStreamId())
		s.mu.Unlock()
	}()
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": open.GetTraceParent()})
	ctx, span := tracer().Start(ctx, "node serve "+kindOf(open), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("k8s.namespace.name", open.GetNamespace()), attribute.String("k8s.pod.name", open.GetPodName()), attribute.String("k8s.container.name", open.GetContainer())))
	defer span.End()
	var err error
	var handle handler
	if full {
		err = refuse(metav1.StatusReasonTooManyRequests, "node %s serves %d streams already", s.config.NodeName, maxStreams)
	} else {
		handle, err = s.prepare(ctx, open)
	}
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
		reason := metav1.StatusReasonInternalError
		var r *refusal
		if errors.As(err, &r) {
			reason = r.reason
		}
		if err := send(&nodev1.SessionRequest{Message: &nodev1.SessionRequest_Refuse{Refuse: &nodev1.Refuse{StreamId: open.GetStreamId(), Reason: string(reason), Message: err.Error()}}}); err != nil {
			s.logger.Debug("refusal not sent", "error", err)
		}
		return
	}
	if err := s.serve(ctx, open.GetStreamId(), handle); err != nil && ctx.Err() == nil {
		span.SetStatus(codes.Error, err.Error())
		s.logger.Debug("stream ended with an error", "kind", kindOf(open), "pod", open.GetNamespace()+"/"+open.GetPodName(), "error", err)
	}
}

func kindOf(open *nodev1.OpenStream) string {
	switch open.Kind.(type) {
	case *nodev1.OpenStream_Exec:
		return "exec"
	case *nodev1.OpenStream_Attach:
		return "attach"
	case *nodev1.OpenStream_PortForward:
		return "portforward"
	case *nodev1.OpenStream_Logs:
		return "logs"
	}
	return "unknown"
}

// prepare finds what the stream is about and everything that could make it be refused.
func (s *session) prepare(ctx context.Context, open *nodev1.OpenStream) (handler, error) {
	pod, ok := s.config.Pod(open.GetNamespace(), open.GetPodName())
	if !ok || open.GetPodUid() != "" && types.UID(open.GetPodUid()) != pod.UID {
		return nil, refuse(metav1.StatusReasonNotFound, "pod %q not found on node %s", open.GetPodName()+"_"+open.GetNamespace(), s.config.NodeName)
	}
	state, err := s.config.Reader.Read(ctx, pod.UID)
	if err != nil {
		return nil, err
	}
	switch kind := open.Kind.(type) {
	case *nodev1.OpenStream_Logs:
		return s.logs(pod, state, open.GetContainer(), kind.Logs)
	case *nodev1.OpenStream_Exec:
		return s.exec(ctx, pod, state, open.GetContainer(), kind.Exec)
	case *nodev1.OpenStream_Attach:
		return s.attach(ctx, pod, state, open.GetContainer(), kind.Attach)
	case *nodev1.OpenStream_PortForward:
		return s.portForward(ctx, state)
	}
	return nil, refuse(metav1.StatusReasonBadRequest, "this agent (%s) does not know the kind of stream that was asked for", s.config.Version)
}
