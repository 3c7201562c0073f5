package server

import (
	"context"
	"strings"
	"sync"

	"google.golang.org/grpc"
)

// Calls counts the calls that are being served. grpc's own graceful stop waits for health watches too, which clients keep
// open for as long as they live; this one leaves them out.
type Calls struct {
	mu       sync.Mutex
	n        int
	draining bool
	idle     chan struct{}
}

// NewCalls returns a counter at zero.
func NewCalls() *Calls { return &Calls{idle: make(chan struct{})} }

// Idle is closed when Drain was called and no call is left.
func (c *Calls) Idle() <-chan struct{} { return c.idle }

// Drain begins to look for the moment without calls.
func (c *Calls) Drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.draining {
		c.draining = true
		c.look()
	}
}

func (c *Calls) look() {
	if c.draining && c.n == 0 {
		select {
		case <-c.idle:
		default:
			close(c.idle)
		}
	}
}

func (c *Calls) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	c.look()
}

// Options make a server count its calls.
func (c *Calls) Options() []grpc.ServerOption {
	counts := func(method string) bool { return !strings.HasPrefix(method, "/grpc.") }
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			if counts(info.FullMethod) {
				c.add(1)
				defer c.add(-1)
			}
			return h(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			if counts(info.FullMethod) {
				c.add(1)
				defer c.add(-1)
			}
			return h(srv, s)
		}),
	}
}
