package operator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// DefaultTimeout is for how long one member is waited for.
const DefaultTimeout = 3 * time.Second

// Config of an Operator.
type Config struct {
	// Endpoints are client addresses of members, host:port; one is enough, the others are found through it.
	Endpoints []string
	// TLS holds the operator's certificate; nil means plaintext.
	TLS *tls.Config
	// Timeout bounds a question to one member; 0 means DefaultTimeout. Changes and transfers take as long as their context
	// lets them.
	Timeout time.Duration
}

// Operator is a set of connections to the members of one store. It is safe for concurrent use.
type Operator struct {
	cfg   Config
	creds credentials.TransportCredentials

	mu    sync.Mutex
	conns map[string]*grpc.ClientConn
}

// New makes an operator. It connects when it is asked something.
func New(cfg Config) (*Operator, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("no member of the store is known: name the address of at least one")
	}
	for _, e := range cfg.Endpoints {
		if _, _, err := net.SplitHostPort(e); err != nil {
			return nil, fmt.Errorf("the member's address %q is not of the form host:port: %w", e, err)
		}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	o := &Operator{cfg: cfg, creds: insecure.NewCredentials(), conns: map[string]*grpc.ClientConn{}}
	if cfg.TLS != nil {
		o.creds = credentials.NewTLS(cfg.TLS)
	}
	return o, nil
}

// Close ends all connections.
func (o *Operator) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var err error
	for _, c := range o.conns {
		err = errors.Join(err, c.Close())
	}
	clear(o.conns)
	return err
}

// conn is the connection to one member. Calls on it do not wait for a member that refuses them.
func (o *Operator) conn(address string) (*grpc.ClientConn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.conns[address]; c != nil {
		return c, nil
	}
	c, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(o.creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}, MinConnectTimeout: o.cfg.Timeout}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20)),
	)
	if err != nil {
		return nil, err
	}
	o.conns[address] = c
	return c, nil
}

// limit bounds a question to one member.
func (o *Operator) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, o.cfg.Timeout)
}
