package nodesession

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/api/endpoint"
)

const (
	// heartbeatPeriod is how often an agent renews its Lease.
	heartbeatPeriod = 10 * time.Second
	// answerTimeout is how long an agent may take to call back.
	answerTimeout = 15 * time.Second
	// outbox bounds the requests that wait to be sent to one agent.
	outbox = 256
)

// Config of the node services.
type Config struct {
	// Pods is the endpoint of pods.
	Pods       endpoint.Interface
	Authorizer authz.Authorizer
	Clock      clock.Clock
	Logger     *slog.Logger
}

// Nodes serves NodeService and ConnectService, and logs. It is safe for concurrent use.
type Nodes struct {
	nodev1.UnimplementedNodeServiceServer
	apiv1.UnimplementedConnectServiceServer
	config Config

	// mu guards the maps; nothing is sent or awaited under it.
	mu       sync.Mutex
	sessions map[string]*session
	waiting  map[string]*waiting
	closed   chan struct{}
	closing  sync.Once
}

// session is an agent's open session.
type session struct {
	node string
	out  chan *nodev1.SessionResponse
	// done ends when the session does, or when a newer one of the same node takes its place.
	done context.Context
	end  context.CancelFunc
}

// waiting is a stream that an agent was asked for.
type waiting struct {
	session *session
	// answer gets the agent's call, or the reason of its refusal: one of both, once.
	answer chan answer
}

type answer struct {
	call *call
	err  error
}

// New makes the services; Register adds them to a server.
func New(c Config) *Nodes {
	return &Nodes{config: c, sessions: map[string]*session{}, waiting: map[string]*waiting{}, closed: make(chan struct{})}
}

// Register adds the services to a server.
func (n *Nodes) Register(s grpc.ServiceRegistrar) {
	nodev1.RegisterNodeServiceServer(s, n)
	apiv1.RegisterConnectServiceServer(s, n)
}

// Close ends all sessions, so that agents find another instance; conversations go on.
func (n *Nodes) Close() { n.closing.Do(func() { close(n.closed) }) }

// mayActFor says whether the caller is the agent of a node.
func mayActFor(ctx context.Context, node string) error {
	user, _ := authn.UserFrom(ctx)
	if user.InGroup(authn.GroupMasters) || user.InGroup(authn.GroupNodes) && user.Name == authn.NodePrefix+node {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: fmt.Sprintf("User %q may not hold the session of node %q: it takes %q in group %q", user.Name, node, authn.NodePrefix+node, authn.GroupNodes),
	}}
}

// Session implements NodeService.
func (n *Nodes) Session(stream grpc.BidiStreamingServer[nodev1.SessionRequest, nodev1.SessionResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	hello := first.GetHello()
	if hello.GetNodeName() == "" {
		return apierrors.NewBadRequest("the first message of a session must be hello with the node's name")
	}
	if err := mayActFor(stream.Context(), hello.GetNodeName()); err != nil {
		return err
	}
	s := n.begin(stream.Context(), hello.GetNodeName())
	defer n.finish(s)
	n.config.Logger.Info("node session opened", "node", s.node, "agent", hello.GetAgentVersion())
	defer n.config.Logger.Info("node session ended", "node", s.node)
	welcome := &nodev1.SessionResponse{Message: &nodev1.SessionResponse_Welcome{Welcome: &nodev1.Welcome{HeartbeatPeriodMs: uint32(heartbeatPeriod.Milliseconds())}}}
	if err := stream.Send(welcome); err != nil {
		return err
	}
	received := make(chan error, 1)
	go func() { received <- n.receive(stream, s) }()
	for {
		select {
		case m := <-s.out:
			if err := stream.Send(m); err != nil {
				return err
			}
		case err := <-received:
			return err
		case <-n.closed:
			return nil
		case <-s.done.Done():
			return stream.Context().Err()
		}
	}
}

// receive reads the agent's messages until it closes the session.
func (n *Nodes) receive(stream grpc.BidiStreamingServer[nodev1.SessionRequest, nodev1.SessionResponse], s *session) error {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r := m.GetRefuse(); r != nil {
			if w := n.take(r.GetStreamId(), s); w != nil {
				w.answer <- answer{err: statusFor(r.GetReason(), r.GetMessage())}
			}
		}
	}
}

// begin registers a session; an older one of the node ends: its agent is gone, or it will not miss it.
func (n *Nodes) begin(ctx context.Context, node string) *session {
	s := &session{node: node, out: make(chan *nodev1.SessionResponse, outbox)}
	s.done, s.end = context.WithCancel(ctx)
	n.mu.Lock()
	old := n.sessions[node]
	n.sessions[node] = s
	n.mu.Unlock()
	if old != nil {
		old.end()
	}
	return s
}

func (n *Nodes) finish(s *session) {
	s.end()
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sessions[s.node] == s {
		delete(n.sessions, s.node)
	}
}

// take hands out the waiting stream of an id, once; only the session that was asked may answer.
func (n *Nodes) take(id string, s *session) *waiting {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := n.waiting[id]
	if w == nil || s != nil && w.session != s {
		return nil
	}
	delete(n.waiting, id)
	return w
}

// Serve implements NodeService: the agent's side of one stream.
func (n *Nodes) Serve(stream grpc.BidiStreamingServer[nodev1.ServeRequest, nodev1.ServeResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	id := first.GetStreamId()
	n.mu.Lock()
	w := n.waiting[id]
	n.mu.Unlock()
	if w == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("no stream %q is waiting: its client went away or it was served already", id))
	}
	if err := mayActFor(stream.Context(), w.session.node); err != nil {
		return err
	}
	if w = n.take(id, nil); w == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("stream %q was served already", id))
	}
	c := &call{stream: stream, over: make(chan struct{})}
	w.answer <- answer{call: c}
	// The client's goroutine reads and writes this stream until it is done.
	select {
	case <-c.over:
		return nil
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// open asks the agent of a node for a stream and waits for its call.
func (n *Nodes) open(ctx context.Context, node string, o *nodev1.OpenStream) (*call, error) {
	n.mu.Lock()
	s := n.sessions[node]
	if s == nil {
		n.mu.Unlock()
		return nil, backendError(fmt.Sprintf("no session with node %q", node))
	}
	o.StreamId = uuid.NewString()
	w := &waiting{session: s, answer: make(chan answer, 1)}
	n.waiting[o.StreamId] = w
	n.mu.Unlock()

	timer := n.config.Clock.NewTimer(answerTimeout)
	defer timer.Stop()
	var failure error
	select {
	case s.out <- &nodev1.SessionResponse{Message: &nodev1.SessionResponse_Open{Open: o}}:
		select {
		case a := <-w.answer:
			return a.call, a.err
		case <-s.done.Done():
			failure = backendError(fmt.Sprintf("the session with node %q ended", node))
		case <-timer.C():
			failure = backendError(fmt.Sprintf("node %q did not answer within %s", node, answerTimeout))
		case <-ctx.Done():
			failure = ctx.Err()
		}
	case <-s.done.Done():
		failure = backendError(fmt.Sprintf("the session with node %q ended", node))
	case <-timer.C():
		failure = backendError(fmt.Sprintf("the session with node %q is stuck", node))
	case <-ctx.Done():
		failure = ctx.Err()
	}
	if n.take(o.StreamId, nil) == nil {
		// The agent answered in this very moment.
		a := <-w.answer
		if a.call != nil {
			a.call.close()
		}
		return nil, failure
	}
	select {
	case s.out <- &nodev1.SessionResponse{Message: &nodev1.SessionResponse_Cancel{Cancel: &nodev1.CancelStream{StreamId: o.StreamId}}}:
	default:
		// The agent's outbox is full; its call will find no waiting stream.
	}
	return nil, failure
}

// backendError is the 500 that Kubernetes gives when it cannot reach a node.
func backendError(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "error dialing backend: " + message,
	}}
}

// statusFor is the error for a Status reason that came from a node.
func statusFor(reason, message string) error {
	code := int32(http.StatusInternalServerError)
	switch metav1.StatusReason(reason) {
	case metav1.StatusReasonBadRequest:
		code = http.StatusBadRequest
	case metav1.StatusReasonNotFound:
		code = http.StatusNotFound
	case metav1.StatusReasonForbidden:
		code = http.StatusForbidden
	case metav1.StatusReasonConflict:
		code = http.StatusConflict
	case metav1.StatusReasonServiceUnavailable:
		code = http.StatusServiceUnavailable
	case metav1.StatusReasonTooManyRequests:
		code = http.StatusTooManyRequests
	case metav1.StatusReasonTimeout:
		code = http.StatusGatewayTimeout
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: metav1.StatusReason(reason), Message: message,
	}}
}
