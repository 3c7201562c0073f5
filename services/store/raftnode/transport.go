package raftnode

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"k8s.io/utils/clock"
)

// A connection begins with a greeting: a byte that says which protocol follows, and the number of the cluster that the
// dialer is of (eight bytes, big-endian; 0 when it does not know).
const (
	protocolRaft = 'R'
	protocolGRPC = 'G'
)

const greetingSize = 1 + 8

// handshakeTimeout bounds how long a connection may take to say what it wants.
const handshakeTimeout = 10 * time.Second

// mux shares the peers' port between Raft and gRPC and secures both.
type mux struct {
	ln     net.Listener
	server *tls.Config
	client *tls.Config
	allow  func(*x509.Certificate) bool
	id     *identity
	log    *slog.Logger
	// strangers is when a peer of another cluster was last logged: they try again and again.
	strangers atomic.Int64
	clock     clock.PassiveClock

	raft, grpc *queueListener
	// lost is told when a connection of Raft's ended.
	lost chan struct{}
	// cut: no connection is made or taken.
	cut  atomic.Bool
	stop context.CancelFunc
	done sync.WaitGroup
}

func newMux(c *Config, id *identity) *mux {
	ctx, stop := context.WithCancel(context.Background())
	addr := advertised(c.AdvertiseAddr)
	m := &mux{
		ln: c.Listener, server: c.ServerTLS, client: c.ClientTLS, allow: c.AllowPeer, id: id, clock: c.Clock, log: c.Logger, stop: stop,
		raft: newQueueListener(addr), grpc: newQueueListener(addr), lost: make(chan struct{}, 1),
	}
	m.raft.onEnd = func() {
		select {
		case m.lost <- struct{}{}:
		default:
		}
	}
	m.done.Go(func() { m.accept(ctx) })
	return m
}

// Close ends the port and everything that waits on it.
func (m *mux) Close() {
	m.stop()
	m.ln.Close()
	m.raft.Close()
	m.grpc.Close()
	m.done.Wait()
	m.raft.Close() // what was greeted meanwhile
	m.grpc.Close()
}

// errCut ends calls while the port is cut off.
var errCut = errors.New("this member has cut itself off: its disk or its state machine does not answer")

// setCut cuts the port off from all peers, or lets them in again.
func (m *mux) setCut(cut bool) {
	if m.cut.Swap(cut) == cut || !cut {
		return
	}
	m.raft.drop()
	m.grpc.drop()
}

func (m *mux) accept(ctx context.Context) {
	for {
		conn, err := m.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			m.log.Warn("accepting a connection of a peer failed", "err", err)
			select { // out of file descriptors, most likely: let some be freed
			case <-ctx.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		m.done.Go(func() { m.greet(ctx, conn) })
	}
}

// greet verifies the other side and hands the connection to its protocol.
func (m *mux) greet(ctx context.Context, conn net.Conn) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	raw := conn
	undo := context.AfterFunc(ctx, func() { raw.Close() })
	if m.server != nil {
		secure := tls.Server(conn, m.server)
		if err := secure.HandshakeContext(ctx); err != nil {
			if !errors.Is(err, io.EOF) { // somebody who only asks whether the port is open
				m.log.Warn("a peer's TLS handshake failed", "from", conn.RemoteAddr().String(), "err", err)
			}
			conn.Close()
			return
		}
		certs := secure.ConnectionState().PeerCertificates
		if m.allow != nil && (len(certs) == 0 || !m.allow(certs[0])) {
			m.log.Warn("refused a peer: its certificate is not that of a store member", "from", conn.RemoteAddr().String())
			conn.Close()
			return
		}
		conn = secure
	}
	var greeting [greetingSize]byte
	if _, err := io.ReadFull(conn, greeting[:]); err != nil {
		conn.Close()
		return
	}
	if !undo() {
		return // closed already
	}
	if !m.related(binary.BigEndian.Uint64(greeting[1:]), conn) {
		conn.Close()
		return
	}
	switch kind := greeting[0]; {
	case m.cut.Load():
		conn.Close()
	case kind == protocolRaft:
		m.raft.put(conn)
	case kind == protocolGRPC:
		m.grpc.put(conn)
	default:
		conn.Close()
	}
}

// strangersInterval is how often a peer of another cluster is logged.
const strangersInterval = 10 * time.Second

// related says whether a peer is of this cluster.
func (m *mux) related(cluster uint64, conn net.Conn) bool {
	ok, err := m.id.accepts(cluster)
	now, last := m.clock.Now().UnixNano(), m.strangers.Load()
	switch {
	case err != nil:
		m.log.Error("a peer was refused because the number of its cluster could not be kept", "from", conn.RemoteAddr().String(), "err", err)
		return false
	case !ok && now-last >= int64(strangersInterval) && m.strangers.CompareAndSwap(last, now):
		m.log.Warn("refused a member of another store cluster: one that was restored or recovered does not take members of the one before: stop that member, empty its data folder and add it again",
			"from", conn.RemoteAddr().String(), "its_cluster", clusterString(cluster), "this_cluster", clusterString(m.id.cluster.Load()))
	}
	return ok
}

// dial connects to a peer for one of the protocols.
func (m *mux) dial(ctx context.Context, address string, protocol byte) (net.Conn, error) {
	if m.cut.Load() {
		return nil, errCut
	}
	var conn net.Conn
	var err error
	if address == m.raft.addr.String() && protocol == protocolRaft { // this member itself
		here, there := net.Pipe()
		m.done.Go(func() { m.raft.put(there) })
		return here, nil
	}
	if m.client == nil {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	} else {
		conn, err = (&tls.Dialer{Config: m.client}).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	greeting := binary.BigEndian.AppendUint64([]byte{protocol}, m.id.cluster.Load())
	if _, err := conn.Write(greeting); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// streamLayer is the mux as the Raft library wants it.
type streamLayer struct {
	*queueListener
	mux *mux
}

func (s streamLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	conn, err := s.mux.dial(ctx, string(address), protocolRaft)
	if err != nil {
		return nil, err
	}
	return s.track(conn), nil
}

// queueListener is a listener that gets its connections from the mux.
type queueListener struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once

	// onEnd, when set, is called when the other side of a connection has ended it.
	onEnd func()

	mu   sync.Mutex
	open map[*trackedConn]struct{}
}

// trackedConn is a connection that ends with its listener: neither protocol's library closes all it has accepted.
type trackedConn struct {
	net.Conn
	of *queueListener
}

func (c *trackedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil && c.of.onEnd != nil && !errors.Is(err, net.ErrClosed) {
		c.of.onEnd()
	}
	return n, err
}

func (c *trackedConn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

func newQueueListener(addr net.Addr) *queueListener {
	return &queueListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{}), open: map[*trackedConn]struct{}{}}
}

func (q *queueListener) put(c net.Conn) {
	t := q.track(c)
	select {
	case q.conns <- t:
	case <-q.closed:
		t.Close()
	}
}

// track makes a connection end with the listener.
func (q *queueListener) track(c net.Conn) *trackedConn {
	t := &trackedConn{Conn: c, of: q}
	q.mu.Lock()
	q.open[t] = struct{}{}
	q.mu.Unlock()
	return t
}

func (q *queueListener) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *queueListener) Addr() net.Addr { return q.addr }

func (q *queueListener) Close() error {
	q.once.Do(func() { close(q.closed) })
	q.drop()
	return nil
}

// drop ends all connections.
func (q *queueListener) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for c := range q.open {
		c.Conn.Close()
	}
	clear(q.open)
}

// advertised is a network address that is a name others use.
type advertised string

func (a advertised) Network() string { return "tcp" }
func (a advertised) String() string  { return string(a) }
