package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

func anonymousTLS(pool *x509.CertPool) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool, ServerName: "localhost"}
}

// Observed is a live copy of a resource: every event of its watch goes through it, across restarts of api and store.
type Observed[T apiclient.Object] struct {
	cache   *informer.Informer[T]
	changed chan struct{}
}

// Observe begins to follow a resource; each is told every change while nothing else of it changes, with the objects as they are then. The test's end
// stops it.
func Observe[T apiclient.Object, L apiclient.List](t testing.TB, r apiclient.Resource[T, L], each func(all []T)) *Observed[T] {
	o := &Observed[T]{changed: make(chan struct{}, 1)}
	o.cache = informer.Of(r, informer.Options[T]{Clock: clock.RealClock{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	note := func() {
		if each != nil {
			each(o.cache.List())
		}
		select {
		case o.changed <- struct{}{}:
		default:
		}
	}
	o.cache.AddHandler(informer.Handler[T]{
		Add:    func(T, informer.Cause) { note() },
		Update: func(_, _ T, _ informer.Cause) { note() },
		Delete: func(T, informer.Cause) { note() },
	})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { _ = o.cache.Run(ctx) })
	t.Cleanup(func() { cancel(); group.Wait() })
	return o
}

// List is the objects now.
func (o *Observed[T]) List() []T { return o.cache.List() }

// Await waits until the condition holds for the objects; it is asked again after every change. One goroutine waits at a time.
func (o *Observed[T]) Await(ctx context.Context, what string, holds func(all []T) bool) error {
	select {
	case <-o.cache.Synced():
	case <-ctx.Done():
		return fmt.Errorf("waiting for %s: the watch did not begin: %w", what, context.Cause(ctx))
	}
	for {
		if holds(o.cache.List()) {
			return nil
		}
		select {
		case <-o.changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}
