package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	_ "google.golang.org/grpc/health" // lets the balancer leave out members that say they do not serve
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/wire"
)

// Config of a client.
type Config struct {
	// Endpoints are the members' client addresses, host:port.
	Endpoints []string
	// TLS holds the client's certificate and the authority it trusts; nil means plaintext.
	TLS *tls.Config
	// Timeout bounds a call whose context has no deadline; 0 means DefaultTimeout.
	Timeout time.Duration
	// DialOptions are added to those of the client.
	DialOptions []grpc.DialOption
}

// DefaultTimeout is how long a call may take whose context has no deadline.
const DefaultTimeout = 30 * time.Second

const (
	// maxMessage bounds what a client receives at once: a transaction's response may hold many previous values.
	maxMessage = 256 << 20
	// window is the initial flow control window: a range answer should not wait for round trips.
	window = 4 << 20

	// buffer is how much is read or written in one system call.
	buffer = 128 << 10

	serviceConfig = `{"loadBalancingConfig":[{"` + balancerName + `":{}}],"healthCheckConfig":{"serviceName":""}}`
)

// Client is a connection to a store. It is safe for concurrent use; make one for a process.
type Client struct {
	cfg   Config
	conn  *grpc.ClientConn
	store storev1.StoreServiceClient
	pipe  *pipeline
	// groups are the watches that share one of the store's.
	groups groups
	// ctx is that of watches and lanes: it ends with Close.
	ctx   context.Context
	stop  context.CancelFunc
	lanes sync.WaitGroup
}

var _ kv.KV = (*Client)(nil)

// New makes a client. It connects in the background: calls wait for a member to answer.
func New(cfg Config) (*Client, error) {
	if len(cfg.Endpoints) == 0 {
		return nil, errors.New("the store client has no endpoints: name at least one member's address")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	var state resolver.State
	for _, e := range cfg.Endpoints {
		host, _, err := net.SplitHostPort(e)
		if err != nil {
			return nil, fmt.Errorf("the store endpoint %q is not an address of the form host:port: %w", e, err)
		}
		if cfg.TLS != nil && cfg.TLS.ServerName != "" {
			host = cfg.TLS.ServerName // the name that the certificate must have, whatever the address
		}
		addr := resolver.Address{Addr: e, ServerName: host}
		state.Addresses = append(state.Addresses, addr)
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{addr}})
	}
	r := manual.NewBuilderWithScheme("orrery-store")
	r.InitialState(state)
	creds := insecure.NewCredentials()
	if cfg.TLS != nil {
		creds = credentials.NewTLS(cfg.TLS)
	}
	opts := append([]grpc.DialOption{
		grpc.WithResolvers(r), grpc.WithDefaultServiceConfig(serviceConfig), grpc.WithTransportCredentials(creds),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(4 * window),
		grpc.WithReadBufferSize(buffer), grpc.WithWriteBufferSize(buffer), experimental.WithBufferPool(wire.Pool),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	}, append(telemetry.DialOptions("api"), cfg.DialOptions...)...)
	conn, err := grpc.NewClient("orrery-store:///store", opts...)
	if err != nil {
		return nil, fmt.Errorf("making the store client: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Client{cfg: cfg, conn: conn, store: storev1.NewStoreServiceClient(conn), pipe: &pipeline{}, groups: groups{by: map[groupKey]*group{}}, ctx: ctx, stop: stop}
	for _, e := range cfg.Endpoints {
		c.pipe.lanes = append(c.pipe.lanes, &lane{p: c.pipe, store: c.store, endpoint: e, wake: make(chan struct{}, 1), sent: map[uint64]*call{}})
	}
	for _, l := range c.pipe.lanes {
		c.lanes.Go(func() { l.run(ctx) })
	}
	return c, nil
}

// Close ends all calls and watches.
func (c *Client) Close() error {
	c.stop()
	err := c.conn.Close()
	c.lanes.Wait()
	c.pipe.close()
	return err
}

// Membership is the service that lists and changes the store's members.
func (c *Client) Membership() storev1.MembershipServiceClient {
	return storev1.NewMembershipServiceClient(c.conn)
}

// Maintenance is the operator's service of whichever member the call reaches.
func (c *Client) Maintenance() storev1.MaintenanceServiceClient {
	return storev1.NewMaintenanceServiceClient(c.conn)
}

// pause is how long a call waits before it is tried again.
const pause = 50 * time.Millisecond

// call runs fn until its outcome is known, or the context ends. repeatable says that doing it twice does no harm;
// otherwise only what certainly did not happen is tried again. again tells fn that it may have been done before.
func (c *Client) call(ctx context.Context, repeatable bool, fn func(ctx context.Context, again bool) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bounded := ctx
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	var last error
	again := false
	for {
		err := wire.FromStatus(bounded, fn(bounded, again))
		switch {
		case err == nil:
			return nil
		case errors.Is(err, kv.ErrNoLeader):
			last = err
		case errors.Is(err, kv.ErrOutcomeUnknown), errors.Is(err, kv.ErrClosed), wire.Disconnected(err):
			// The call waits for a connection before it is sent, so a broken one broke under way.
			if c.ctx.Err() != nil {
				return kv.ErrClosed
			}
			if !repeatable {
				if errors.Is(err, kv.ErrOutcomeUnknown) {
					return err
				}
				return fmt.Errorf("%w (%w)", kv.ErrOutcomeUnknown, err)
			}
			last, again = err, true
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			return c.noAnswer(last)
		default:
			return err
		}
		select {
		case <-time.After(pause):
		case <-bounded.Done():
			if err := ctx.Err(); err != nil {
				return err
			}
			return c.noAnswer(last)
		}
	}
}

// noAnswer is the error of a call that ran into the client's own limit.
func (c *Client) noAnswer(last error) error {
	err := fmt.Errorf("the store at %s did not answer within %s: check that its members run and reach each other: %w",
		strings.Join(c.cfg.Endpoints, ", "), c.cfg.Timeout, context.DeadlineExceeded)
	if last != nil {
		err = fmt.Errorf("%w (%w)", err, last)
	}
	return err
}
