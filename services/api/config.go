package api

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/store/kv"
)

// Config of the api service.
type Config struct {
	// ListenAddr is host:port; port 0 picks a free one, see Addr. Listener is used instead when set; the service closes it.
	ListenAddr string
	Listener   net.Listener
	// StoreEndpoints are the store members' client addresses, host:port; StoreTLS holds the api's own certificate (store clients'
	// organization). KV is used instead when set, and left open.
	StoreEndpoints []string
	StoreTLS       *tls.Config
	KV             kv.KV
	// ServerTLS is the server's side of mutual TLS: callers are who their certificates say. nil serves plaintext to anybody
	// as anonymous, which only tests do.
	ServerTLS *tls.Config

	// ServiceAddresses is the range of services' cluster addresses; the zero Prefix is 10.96.0.0/16.
	ServiceAddresses netip.Prefix

	// DrainTimeout caps how long running requests are waited for after Run's context ended; 0 means 10 s.
	DrainTimeout time.Duration

	Logger *slog.Logger
	Clock  clock.WithTicker
}

func (c *Config) complete() error {
	var errs []error
	if c.Listener == nil {
		if _, _, err := net.SplitHostPort(c.ListenAddr); err != nil {
			errs = append(errs, fmt.Errorf("listen address %q is not host:port: %w", c.ListenAddr, err))
		}
	}
	if c.KV == nil && len(c.StoreEndpoints) == 0 {
		errs = append(errs, errors.New("no store address given: name at least one host:port"))
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if len(errs) > 0 {
		return fmt.Errorf("api: %w", errors.Join(errs...))
	}
	return nil
}
