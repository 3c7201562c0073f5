package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"k8s.io/utils/clock"
)

// Config says where a gateway listens and which api it fronts.
type Config struct {
	// ListenAddr is host:port; port 0 picks a free one, see Addr.
	ListenAddr string
	// Listener is used instead of ListenAddr when set; the gateway closes it.
	Listener net.Listener
	// APIAddrs are the api's replicas as host:port; calls are spread over those that answer.
	APIAddrs []string
	// ServerTLS is the front door's configuration (pki.ServerTLSOptional): client certificates verified if given.
	ServerTLS *tls.Config
	// APITLS is the client side towards the api, with the gateway's own identity (pki.ClientTLS).
	APITLS *tls.Config

	// APIConnections is how many connections are held to each replica; 0 means 4. One connection's
	// frames are written by one goroutine, so a few make use of several cores.
	APIConnections int
	// RequestTimeout ends requests other than watches, followed logs and upgrades; 0 means 60 s.
	RequestTimeout time.Duration
	// DrainTimeout caps how long Run waits for running requests after its context ended; 0 means 10 s.
	DrainTimeout time.Duration

	Logger *slog.Logger
	// Clock measures timeouts of upgrades; nil is the real one.
	Clock clock.WithTicker
}

func (c *Config) complete() error {
	var errs []error
	if c.Listener == nil {
		if _, _, err := net.SplitHostPort(c.ListenAddr); err != nil {
			errs = append(errs, fmt.Errorf("listen address %q is not host:port: %w", c.ListenAddr, err))
		}
	}
	if len(c.APIAddrs) == 0 {
		errs = append(errs, errors.New("no api address given: name at least one host:port"))
	}
	for _, a := range c.APIAddrs {
		if _, _, err := net.SplitHostPort(a); err != nil {
			errs = append(errs, fmt.Errorf("api address %q is not host:port: %w", a, err))
		}
	}
	if c.ServerTLS == nil {
		errs = append(errs, errors.New("no TLS configuration for the front door: identities come from client certificates, so plain HTTP is not served"))
	}
	if c.APITLS == nil {
		errs = append(errs, errors.New("no TLS configuration towards the api"))
	}
	if c.APIConnections <= 0 {
		c.APIConnections = 4
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = 60 * time.Second
	}
	if c.DrainTimeout <= 0 {
		c.DrainTimeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if len(errs) > 0 {
		return fmt.Errorf("gateway: configuration: %w", errors.Join(errs...))
	}
	return nil
}
