package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/internal/wire"
)

const (
	// Windows large enough that a list streams at full speed, small enough that a slow client holds little.
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
	maxMessage       = 256 << 20
)

// pool is a handful of connections to every replica of the api, used in turn. It implements grpc.ClientConnInterface.
type pool struct {
	conns []*grpc.ClientConn
	next  atomic.Uint32
}

func newPool(addrs []string, connections int, tlsConfig *tls.Config) (*pool, error) {
	state := resolver.State{}
	for _, a := range addrs {
		host, _, err := net.SplitHostPort(a)
		if err != nil {
			return nil, fmt.Errorf("gateway: api address %q: %w", a, err)
		}
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: a, ServerName: host}}})
	}
	p := &pool{}
	for range connections {
		replicas := manual.NewBuilderWithScheme("replicas")
		replicas.InitialState(state)
		options := append([]grpc.DialOption{
			grpc.WithResolvers(replicas),
			grpc.WithTransportCredentials(credentials.NewTLS(tlsConfig)),
			grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
			grpc.WithInitialWindowSize(streamWindow),
			grpc.WithInitialConnWindowSize(connectionWindow),
			grpc.WithReadBufferSize(128 << 10),
			grpc.WithWriteBufferSize(128 << 10),
			grpc.WithUserAgent("orrery-gateway"),
			// An api that restarts is back in a moment; do not let it wait for the back-off of an outage.
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
				MinConnectTimeout: 5 * time.Second,
			}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}),
			grpc.WithIdleTimeout(0),
		}, telemetry.DialOptions("gateway")...)
		conn, err := grpc.NewClient("replicas:///api", options...)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("gateway: cannot prepare the connection to the api: %w", err), p.close())
		}
		conn.Connect()
		p.conns = append(p.conns, conn)
	}
	return p, nil
}

func (p *pool) pick() *grpc.ClientConn {
	return p.conns[int(p.next.Add(1)%uint32(len(p.conns)))]
}

// Invoke implements grpc.ClientConnInterface. A call that no replica ever saw is noted in the exchange, for it is safe to repeat.
func (p *pool) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	var to peer.Peer
	err := p.pick().Invoke(ctx, method, args, reply, append(opts, grpc.Peer(&to))...)
	if err != nil && to.Addr == nil {
		if ex := exchangeFrom(ctx); ex != nil {
			ex.neverSent = true
		}
	}
	return err
}

// NewStream implements grpc.ClientConnInterface.
func (p *pool) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return p.pick().NewStream(ctx, desc, method, opts...)
}

func (p *pool) close() error {
	var errs []error
	for _, c := range p.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// codec is wire.Codec, except that a received HttpBody keeps the bytes it came in: an answer's body is not copied again.
type codec struct{ wire.Codec }

// Unmarshal decodes data into v.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	body, ok := v.(*httpbody.HttpBody)
	if !ok {
		return c.Codec.Unmarshal(data, v)
	}
	b := data.Materialize()
	body.ContentType, body.Data, body.Extensions = "", nil, nil
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("gateway: malformed HttpBody: %w", protowire.ParseError(n))
		}
		b = b[n:]
		if kind == protowire.BytesType && (number == 1 || number == 2) {
			v, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return fmt.Errorf("gateway: malformed HttpBody: %w", protowire.ParseError(n))
			}
			if number == 1 {
				body.ContentType = string(v)
			} else {
				body.Data = v
			}
			b = b[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return fmt.Errorf("gateway: malformed HttpBody: %w", protowire.ParseError(n))
		}
		b = b[n:]
	}
	return nil
}
