package garbagecollector

// Watches: the metadata of every resource that can be deleted, listed and watched.
// Writes: any object (delete, ownerReferences, the finalizers orphan and foregroundDeletion).

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
)

// Config is what the controller needs.
type Config struct {
	Client *apiclient.Client
	Clock  clock.WithTicker
	Logger *slog.Logger
}

// Controller is the garbage collector; Run starts it.
type Controller struct{ *collector }

type collector struct {
	Config
	graph    *graph
	monitors *monitors
	queue    *controller.Controller
	// absent remembers owners that the api said are gone; a uid never comes back.
	absent *lru.Cache
}

// New makes the controller.
func New(config Config) *Controller {
	c := &collector{Config: config, graph: newGraph(), absent: lru.New(4096)}
	c.monitors = &monitors{collector: c, resources: map[schema.GroupKind]apiclient.APIResource{}, running: map[schema.GroupVersionResource]*monitor{}}
	c.queue = controller.New("garbagecollector", c.reconcile, controller.Options{Workers: 10, Clock: config.Clock, Logger: config.Logger})
	return &Controller{c}
}

// Run collects until ctx is over.
func (c *Controller) Run(ctx context.Context) error {
	defer c.monitors.wait.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, rediscover) {
		err := c.monitors.refresh(ctx)
		if err == nil {
			break
		}
		c.Logger.Warn("garbage collection waits for discovery", "error", err, "retry_in", wait)
		select {
		case <-c.Clock.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	// What is not in the graph yet would cost a call of the api for each that it owns.
	c.monitors.sync(ctx)
	done := make(chan error, 1)
	go func() { done <- c.queue.Run(ctx) }()
	ticker := c.Clock.NewTicker(rediscover)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C():
			if err := c.monitors.refresh(ctx); err != nil && ctx.Err() == nil {
				c.Logger.Warn("looking for new resources failed", "error", err)
			}
		}
	}
}
