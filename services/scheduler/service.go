package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller/election"
	"github.com/orrery-io/orrery/services/internal/events"
	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/plugins"
)

// Config of the scheduler.
type Config struct {
	API apiclient.Config
	// Identity names this process among the candidates for leadership; the hostname when empty.
	Identity string
	Logger   *slog.Logger
	Clock    clock.WithTicker
}

// Service is a scheduler process: it waits for leadership, then schedules.
type Service struct {
	config Config
	ready  chan struct{}
	once   sync.Once
}

// New checks the configuration.
func New(config Config) (*Service, error) {
	if len(config.API.Addresses) == 0 {
		return nil, errors.New("scheduler: no api address: set --api to host:port")
	}
	if config.Identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("scheduler: no identity given and no hostname: %w", err)
		}
		config.Identity = host
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.API.UserAgent == "" {
		config.API.UserAgent = "orrery-scheduler"
	}
	return &Service{config: config, ready: make(chan struct{})}, nil
}

// Ready is closed when this process leads and knows the cluster.
func (s *Service) Ready() <-chan struct{} { return s.ready }

// Run schedules while this process leads, until ctx is over. Losing the lead is an error: the process should start afresh.
func (s *Service) Run(ctx context.Context) error {
	client, closeConn, err := apiclient.Dial(s.config.API)
	if err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	defer closeConn()
	recorder := events.New(events.ClientSink(client), events.Options{Component: Name, Clock: s.config.Clock, Logger: s.config.Logger})
	recording, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = recorder.Run(recording) })
	return election.Run(ctx, election.Config{Leases: client.Leases("kube-system"), Namespace: "kube-system", Name: "kube-scheduler", Identity: s.config.Identity, Clock: s.config.Clock, Logger: s.config.Logger},
		func(ctx context.Context) error {
			f, err := framework.New(s.config.Clock, plugins.Default(client)...)
			if err != nil {
				return err
			}
			scheduler := NewScheduler(client, f, recorder, s.config.Logger, s.config.Clock)
			group.Go(func() {
				select {
				case <-scheduler.Synced():
					s.once.Do(func() { close(s.ready) })
				case <-ctx.Done():
				}
			})
			return scheduler.Run(ctx)
		})
}
