package apiclient

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Config says where the api is and who calls.
type Config struct {
	// Addresses are host:port of the api's instances; calls are balanced over them and move on when one goes away.
	Addresses []string
	// TLS carries the caller's client certificate; nil speaks plaintext, which only tests do.
	TLS *tls.Config
	// UserAgent names the component: "kube-scheduler".
	UserAgent string
	// Service names the service whose spans the calls belong to: "scheduler"; UserAgent when empty.
	Service string
}

// maxMessage bounds what a client accepts in one message: a list of a few hundred thousand objects.
const maxMessage = 1 << 30

// Client is a connection to the api. It is safe for concurrent use.
type Client struct{ conn grpc.ClientConnInterface }

// New makes a client on an existing connection, which must use the codec wire.Codec.
func New(conn grpc.ClientConnInterface) *Client { return &Client{conn: conn} }

// Conn is the connection, for services that have no method here (the node session).
func (c *Client) Conn() grpc.ClientConnInterface { return c.conn }

// Dial connects lazily: it fails only on a bad configuration. While no api can be reached calls fail with 503 ServiceUnavailable, to be tried again. close ends the
// connection.
func Dial(config Config) (client *Client, close func() error, err error) {
	if len(config.Addresses) == 0 {
		return nil, nil, errors.New("apiclient: no api address given")
	}
	creds := insecure.NewCredentials()
	if config.TLS != nil {
		creds = credentials.NewTLS(config.TLS)
	}
	endpoints := manual.NewBuilderWithScheme("orrery-api")
	state := resolver.State{}
	for _, a := range config.Addresses {
		address := resolver.Address{Addr: a}
		if config.TLS != nil && config.TLS.ServerName == "" {
			// Each instance is known by the host it was named by.
			host, _, err := net.SplitHostPort(a)
			if err != nil {
				return nil, nil, fmt.Errorf("apiclient: the api's address %q is not host:port: %w", a, err)
			}
			address.ServerName = host
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{address}})
	}
	endpoints.InitialState(state)
	if config.Service == "" {
		config.Service = config.UserAgent
	}
	conn, err := grpc.NewClient(endpoints.Scheme()+":///api", append(telemetry.DialOptions(config.Service),
		grpc.WithResolvers(endpoints),
		grpc.WithTransportCredentials(creds),
		grpc.WithUserAgent(config.UserAgent),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
		// An instance that comes back is found at once: gRPC's own back-off goes up to minutes.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second}, MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(4<<20),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
	)...)
	if err != nil {
		return nil, nil, fmt.Errorf("apiclient: %w", err)
	}
	return New(conn), conn.Close, nil
}
