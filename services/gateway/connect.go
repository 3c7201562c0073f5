package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// maxData is how many bytes one Data frame carries at most, see frame.proto.
const maxData = 32 << 10

// connect serves exec, attach and port-forward. The conversation with the api is opened first, so whatever the api refuses
// (no such pod, not allowed) is still answered as plain HTTP; only then is the client's connection taken over.
func (s *Service) connect(ctx context.Context, w http.ResponseWriter, ex *exchange) {
	r := ex.request
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		ex.fail(routingError(http.StatusMethodNotAllowed))
		return
	}
	if !httpstream.IsUpgradeRequest(r) {
		ex.fail(apierrors.NewBadRequest("Upgrade request required"))
		return
	}
	if r.ProtoMajor != 1 {
		ex.fail(apierrors.NewBadRequest("unable to upgrade: only HTTP/1.1 connections can be upgraded, this one is " + r.Proto))
		return
	}
	upgrade, err := s.chooseUpgrade(r, ex)
	if err != nil {
		ex.fail(err)
		return
	}
	c, err := openConversation(ctx, s.connects, ex)
	if err != nil {
		ex.fail(err)
		return
	}
	defer c.close()
	s.upgraded.Add(1)
	defer s.upgraded.Done()
	ex.response.closed = true
	ex.response.status = http.StatusSwitchingProtocols
	if err := upgrade(w, c); err != nil {
		s.log.DebugContext(ctx, "upgrade", "path", r.URL.Path, "error", err)
	}
}

// chooseUpgrade picks the bridge for the protocol that the client asks for.
func (s *Service) chooseUpgrade(r *http.Request, ex *exchange) (func(http.ResponseWriter, *conversation) error, error) {
	forward := ex.info.Subresource == "portforward"
	websocket := wsstream.IsWebSocketRequest(r)
	switch {
	case websocket && forward:
		protocol, err := chooseProtocol(r, tunnelProtocol, forwardV4, forwardV4Base64, "")
		if err != nil {
			return nil, err
		}
		if protocol == tunnelProtocol {
			return func(w http.ResponseWriter, c *conversation) error { return s.tunnelPortForward(w, r, c) }, nil
		}
		ports, err := forwardPorts(ex.query["ports"])
		if err != nil {
			return nil, err
		}
		return func(w http.ResponseWriter, c *conversation) error {
			return s.websocketPortForward(w, r, c, protocol, ports)
		}, nil
	case websocket:
		options, err := commandOptionsOf(ex)
		if err != nil {
			return nil, err
		}
		protocol, err := chooseProtocol(r, channelV5, channelV4, channelV4Base64, channelV1, channelV1Base64, "")
		if err != nil {
			return nil, err
		}
		return func(w http.ResponseWriter, c *conversation) error {
			return s.websocketCommand(w, r, c, protocol, options)
		}, nil
	case forward:
		return func(w http.ResponseWriter, c *conversation) error { return s.spdyPortForward(w, r, c) }, nil
	}
	options, err := commandOptionsOf(ex)
	if err != nil {
		return nil, err
	}
	return func(w http.ResponseWriter, c *conversation) error { return s.spdyCommand(w, r, c, options) }, nil
}

// chooseProtocol picks the first websocket subprotocol of the client's that is supported; a client without a wish gets "".
func chooseProtocol(r *http.Request, supported ...string) (string, error) {
	var wanted []string
	for _, p := range websocketProtocols(r) {
		if !strings.HasPrefix(p, bearerProtocol) {
			wanted = append(wanted, p)
		}
	}
	if len(wanted) == 0 {
		wanted = []string{""}
	}
	for _, p := range wanted {
		for _, s := range supported {
			if p == s {
				return p, nil
			}
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("unable to upgrade: requested protocol(s) are not supported: %q; the server supports %q", wanted, supported))
}

func websocketProtocols(r *http.Request) []string {
	var out []string
	for _, h := range r.Header.Values(wsstream.WebSocketProtocolHeader) {
		for _, p := range strings.Split(h, ",") {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

func decodeBase64URL(s string) (string, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return string(b), err == nil
}

// conversation is an open Connect call.
type conversation struct {
	ctx    context.Context
	cancel context.CancelFunc
	stream grpc.BidiStreamingClient[apiv1.ConnectRequest, apiv1.ConnectResponse]

	// sending serializes Send, which gRPC allows to one caller at a time; it blocks while the node does not read.
	sending sync.Mutex
}

// openConversation returns when the api has accepted.
func openConversation(ctx context.Context, client apiv1.ConnectServiceClient, ex *exchange) (*conversation, error) {
	ctx, cancel := context.WithCancel(ctx)
	ctx = metadata.NewOutgoingContext(ctx, requestMetadata(ex.request))
	c := &conversation{ctx: ctx, cancel: cancel}
	err := func() (err error) {
		if c.stream, err = client.Connect(ctx); err != nil {
			return err
		}
		open := &apiv1.ConnectOpen{Namespace: ex.info.Namespace, Name: ex.info.Name, Subresource: ex.info.Subresource, Query: ex.request.URL.RawQuery}
		if err = c.stream.Send(&apiv1.ConnectRequest{Message: &apiv1.ConnectRequest_Open{Open: open}}); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		first, err := c.stream.Recv() // after an io.EOF of Send, this has the reason
		if err != nil {
			return err
		}
		if end := first.GetFrame().GetEnd(); end != nil {
			return &apierrors.StatusError{ErrStatus: *endStatus(end)}
		}
		if first.GetFrame() != nil {
			return errors.New("the api began the conversation with data instead of accepting it")
		}
		return nil
	}()
	if err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

// send sends one frame; an error means that the conversation is over, receive has the reason.
func (c *conversation) send(f *nodev1.Frame) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	return c.stream.Send(&apiv1.ConnectRequest{Message: &apiv1.ConnectRequest_Frame{Frame: f}})
}

func (c *conversation) sendData(channel uint32, data []byte) error {
	for len(data) > 0 {
		n := min(len(data), maxData)
		if err := c.send(&nodev1.Frame{Kind: &nodev1.Frame_Data{Data: &nodev1.Data{Channel: channel, Data: data[:n]}}}); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (c *conversation) sendClose(channel uint32) error {
	return c.send(&nodev1.Frame{Kind: &nodev1.Frame_Close{Close: &nodev1.CloseChannel{Channel: channel}}})
}

// pump sends what r yields as a channel's data, then its end. An error of r counts as its end.
func (c *conversation) pump(channel uint32, r io.Reader) error {
	buf := make([]byte, maxData)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if sendErr := c.sendData(channel, buf[:n]); sendErr != nil {
				return sendErr
			}
		}
		if err != nil {
			return c.sendClose(channel)
		}
	}
}

// receive hands every frame to handle until the End frame, which it returns; a conversation that breaks off
// ends with an End that says why.
func (c *conversation) receive(handle func(*nodev1.Frame)) *nodev1.End {
	for {
		m, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return &nodev1.End{Reason: string(metav1.StatusReasonInternalError), Message: "the connection to the node ended without a result"}
		case err != nil:
			s := statusOf(err, nil)
			return &nodev1.End{Reason: string(s.Reason), Message: s.Message}
		case m.GetFrame().GetEnd() != nil:
			return m.GetFrame().GetEnd()
		}
		handle(m.GetFrame())
	}
}

func (c *conversation) close() { c.cancel() }
