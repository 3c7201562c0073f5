package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

const (
	forwardProtocol = "portforward.k8s.io"
	// tunnelProtocol is SPDY inside of a websocket (KEP-4006), what kubectl uses since 1.31.
	tunnelProtocol = "SPDY/3.1+portforward.k8s.io"
)

// spdyForward is a port-forward over SPDY. For each connection the client opens two streams with the same request id: data,
// and error for what went wrong at the pod's end.
type spdyForward struct {
	*forwards
	conn    httpstream.Connection
	started chan struct{} // closed once conn is set
	pumps   sync.WaitGroup

	mu      sync.Mutex
	waiting map[string]*spdyPair
	closed  bool
}

// spdyPair is one connection's two streams.
type spdyPair struct {
	port        uint16
	data, error httpstream.Stream
}

// spdyPortForward upgrades the connection to SPDY and bridges it.
func (s *Service) spdyPortForward(w http.ResponseWriter, r *http.Request, c *conversation) error {
	if _, err := httpstream.Handshake(r, w, []string{forwardProtocol}); err != nil {
		return err // Handshake has answered
	}
	f := newSpdyForward(c)
	conn := spdy.NewResponseUpgraderWithPings(spdyPings).UpgradeResponse(w, r, f.opened)
	if conn == nil {
		return errors.New("the connection could not be taken over") // UpgradeResponse has answered
	}
	f.serve(conn)
	return nil
}

// tunnelPortForward upgrades the connection to a websocket whose messages carry a SPDY connection.
func (s *Service) tunnelPortForward(w http.ResponseWriter, r *http.Request, c *conversation) error {
	ws, err := upgradeWebsocket(w, r, tunnelProtocol)
	if err != nil {
		return err
	}
	f := newSpdyForward(c)
	conn, err := spdy.NewServerConnectionWithPings(portforward.NewTunnelingConnectionWithLogger(klog.TODO(), ws), f.opened, spdyPings)
	if err != nil {
		return err // the connection is closed
	}
	f.serve(conn)
	return nil
}

func newSpdyForward(c *conversation) *spdyForward {
	return &spdyForward{forwards: newForwards(c), started: make(chan struct{}), waiting: map[string]*spdyPair{}}
}

// serve bridges until the client or the conversation ends.
func (f *spdyForward) serve(conn httpstream.Connection) {
	f.conn = conn
	close(f.started)
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-conn.CloseChan():
		case <-f.c.ctx.Done():
		}
		f.c.cancel()
	})
	f.receive()
	f.mu.Lock()
	f.closed = true // no pump begins from here on
	f.mu.Unlock()
	f.c.cancel()
	// Ends every stream's reads; fails only when the client was first.
	_ = conn.Close()
	wg.Wait()
	f.pumps.Wait()
}

// opened takes a stream that the client opens; the second one of a pair begins its connection.
func (f *spdyForward) opened(st httpstream.Stream, replySent <-chan struct{}) error {
	h := st.Headers()
	id, kind := h.Get(corev1.PortForwardRequestIDHeader), h.Get(corev1.StreamType)
	port, err := parsePort(h.Get(corev1.PortHeader))
	if err != nil {
		return err
	}
	if id == "" {
		return fmt.Errorf("a stream for port %d has no header %s", port, corev1.PortForwardRequestIDHeader)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errors.New("the port-forward is ending")
	}
	pair := f.waiting[id]
	if pair == nil {
		pair = &spdyPair{port: port}
		f.waiting[id] = pair
	}
	switch {
	case kind == corev1.StreamTypeData && pair.data == nil:
		pair.data = st
	case kind == corev1.StreamTypeError && pair.error == nil:
		pair.error = st
	default:
		return fmt.Errorf("request %s opened an unexpected stream of type %q", id, kind)
	}
	if pair.data != nil && pair.error != nil {
		delete(f.waiting, id)
		f.pumps.Go(func() { f.pump(pair, replySent) })
	}
	return nil
}

// pump carries what the client sends on one connection. The first stream's reply went out before the second was opened.
func (f *spdyForward) pump(pair *spdyPair, replySent <-chan struct{}) {
	select {
	case <-replySent:
	case <-f.c.ctx.Done():
		return
	}
	<-f.started
	defer f.conn.RemoveStreams(pair.data, pair.error)
	channel, err := f.open(pair.port, pair)
	if err == nil {
		err = f.c.pump(channel, pair.data)
	}
	if err != nil {
		f.drop(channel)
	}
}

func (p *spdyPair) write(data []byte) error {
	_, err := p.data.Write(data)
	return err
}

func (p *spdyPair) closeWrite() {
	// Closing what the client closed or reset before changes nothing.
	_ = p.data.Close()
	_ = p.error.Close()
}

func (p *spdyPair) fail(message string) {
	// A client that left does not learn why.
	_, _ = p.error.Write([]byte(message))
	p.closeWrite()
}
