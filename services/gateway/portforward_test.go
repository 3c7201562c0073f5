package gateway

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
)

// echoPod plays a pod in which port 80 echoes, and on all others nobody listens.
func echoPod(_ *apiv1.ConnectOpen, s apiv1.ConnectService_ConnectServer) error {
	if err := reply(s, nil); err != nil {
		return err
	}
	for {
		m, err := s.Recv()
		if err != nil {
			return err
		}
		f := m.GetFrame()
		switch {
		case f.GetOpen() != nil && f.GetOpen().GetPort() != 80:
			err = reply(s, &nodev1.Frame{Kind: &nodev1.Frame_Error{Error: &nodev1.ChannelError{
				Channel: f.GetOpen().GetChannel(), Message: fmt.Sprintf("error forwarding port %d to pod web: connection refused", f.GetOpen().GetPort())}}})
		case f.GetData() != nil:
			err = reply(s, dataFrame(f.GetData().GetChannel(), f.GetData().GetData()))
		case f.GetClose() != nil:
			err = reply(s, &nodev1.Frame{Kind: &nodev1.Frame_Close{Close: &nodev1.CloseChannel{Channel: f.GetClose().GetChannel()}}})
		}
		if err != nil {
			return err
		}
	}
}

const forwardPath = "/api/v1/namespaces/default/pods/web/portforward"

func dialers(t *testing.T, w *world) map[string]httpstream.Dialer {
	t.Helper()
	u, err := url.Parse(w.url + forwardPath)
	must(t, err)
	transport, upgrader, err := spdy.RoundTripperFor(w.restConfig())
	must(t, err)
	tunnel, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, w.restConfig())
	must(t, err)
	return map[string]httpstream.Dialer{
		"spdy":   spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, "POST", u),
		"tunnel": tunnel,
	}
}

// safeBuffer is a buffer that two goroutines share.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func TestPortForward(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = echoPod
	for kind, dialer := range dialers(t, w) {
		t.Run(kind, func(t *testing.T) {
			stop, ready := make(chan struct{}), make(chan struct{})
			var out safeBuffer
			f, err := portforward.NewForStreaming(dialer, []string{"0:80", "0:81"}, stop, ready, &out, &out)
			must(t, err)
			result := make(chan error, 1)
			go func() { result <- f.ForwardPorts() }()
			select {
			case <-ready:
			case err := <-result:
				t.Fatal(err)
			}
			ports, err := f.GetPorts()
			must(t, err)
			var wg sync.WaitGroup
			for i := range 5 {
				wg.Go(func() {
					in := bytes.Repeat(fmt.Appendf(nil, "connection %d ", i), 20000)
					got, err := talk(ports[0].Local, in)
					if err != nil || !bytes.Equal(got, in) {
						t.Errorf("connection %d: %d bytes of %d, %v", i, len(got), len(in), err)
					}
				})
			}
			wg.Wait()
			// A refused port ends its connection, and with client-go the whole forward.
			if got, err := talk(ports[1].Local, nil); err == nil && len(got) > 0 {
				t.Errorf("port 81 answered %q", got)
			}
			if err := <-result; err == nil {
				t.Error("the forward went on after a refused port")
			}
			close(stop)
		})
	}
}

// talk sends in to a local port, half-closes, and returns what comes back.
func talk(port uint16, in []byte) ([]byte, error) {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }()
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(in)
		if tcp, ok := c.(*net.TCPConn); ok && err == nil {
			err = tcp.CloseWrite()
		}
		sent <- err
	}()
	got, err := io.ReadAll(c)
	if sendErr := <-sent; err == nil && len(in) > 0 {
		err = sendErr
	}
	return got, err
}

func TestPortForwardOverPlainWebsocket(t *testing.T) {
	w := newWorld(t, nil)
	w.api.connect = echoPod
	ws, _, err := w.dial(forwardPath+"?ports=80,81", forwardV4)
	must(t, err)
	defer func() { _ = ws.Close() }()
	next := func() (byte, []byte) {
		t.Helper()
		_, m, err := ws.ReadMessage()
		must(t, err)
		return m[0], m[1:]
	}
	for channel := range byte(4) {
		got, data := next()
		if want := []uint16{80, 81}[channel/2]; got != channel || binary.LittleEndian.Uint16(data) != want {
			t.Fatalf("channel %d says %v", got, data)
		}
	}
	if channel, data := next(); channel != 3 || !strings.Contains(string(data), "connection refused") {
		t.Errorf("%d %q", channel, data)
	}
	must(t, ws.WriteMessage(websocket.BinaryMessage, []byte("\x00hello")))
	if channel, data := next(); channel != 0 || string(data) != "hello" {
		t.Errorf("%d %q", channel, data)
	}
	for _, query := range []string{"", "?ports=0", "?ports=x", "?ports=80,70000"} {
		if _, resp, err := w.dial(forwardPath+query, forwardV4); err == nil || resp.StatusCode != 400 {
			t.Errorf("%q: %v", query, err)
		}
	}
}
