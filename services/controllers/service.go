package controllers

import (
	"context"
	"errors"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller/election"
	"github.com/orrery-io/orrery/services/internal/events"
)

// leaseName is the Lease in kube-system over which processes agree.
const leaseName = "kube-controller-manager"

// Service runs the controllers.
type Service struct {
	config Config
	ready  chan struct{}
	once   sync.Once
}

// New checks the configuration.
func New(config Config) (*Service, error) {
	if err := config.complete(); err != nil {
		return nil, err
	}
	return &Service{config: config, ready: make(chan struct{})}, nil
}

// Ready is closed when the controllers work, or when this process stands by because another one's do.
func (s *Service) Ready() <-chan struct{} { return s.ready }

func (s *Service) setReady() { s.once.Do(func() { close(s.ready) }) }

// Run works until ctx is over, and returns nil when everything has ended in order. It does not need the api to be there: it waits
// for it, and for it to come back. Leadership that was lost is sought again.
func (s *Service) Run(ctx context.Context) error {
	client, closeClient, err := apiclient.Dial(s.config.API)
	if err != nil {
		return err
	}
	defer func() { _ = closeClient() }()
	if !s.config.LeaderElect {
		return quiet(ctx, s.lead(ctx, client))
	}
	for {
		err := election.Run(ctx, election.Config{
			Leases: client.Leases(metav1.NamespaceSystem), Namespace: metav1.NamespaceSystem, Name: leaseName, Identity: s.config.Identity,
			LeaseDuration: s.config.LeaseDuration, RenewDeadline: s.config.RenewDeadline, RetryPeriod: s.config.RetryPeriod,
			Clock: s.config.Clock, Logger: s.config.Logger, Standby: s.setReady,
		}, func(ctx context.Context) error { return s.lead(ctx, client) })
		if !errors.Is(err, election.ErrLost) || ctx.Err() != nil {
			return quiet(ctx, err)
		}
	}
}

// lead runs the enabled controllers until ctx is over, over caches of this term.
func (s *Service) lead(ctx context.Context, client *apiclient.Client) error {
	recorder := events.New(events.ClientSink(client), events.Options{Component: leaseName, Clock: s.config.Clock, Logger: s.config.Logger})
	g := given{client: client, caches: &caches{client: client, config: s.config, byName: map[string]running{}}, events: recorder, config: s.config}
	var controllers []runner
	for _, c := range table {
		if !slices.Contains(s.config.Enabled, c.name) {
			continue
		}
		if r := c.build(g); r != nil {
			controllers = append(controllers, r)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	all.Go(func() { _ = recorder.Run(ctx) })
	var workers sync.WaitGroup
	all.Go(func() {
		g.caches.run(ctx, func() {
			for _, c := range controllers {
				workers.Go(func() {
					if err := c.Run(ctx); err != nil && ctx.Err() == nil {
						cancel(err)
					}
				})
			}
			s.config.Logger.Info("controllers run", "count", len(controllers))
			s.setReady()
		})
	})
	all.Wait()
	workers.Wait()
	return context.Cause(ctx)
}

// quiet is nil for an end in order.
func quiet(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}
