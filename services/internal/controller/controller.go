package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Result says what is left to do for a key after a reconcile without error.
type Result struct {
	// After, when positive, asks for the key again after that time; an earlier change brings it earlier.
	After time.Duration
}

// Reconcile converges one key, read from caches that may be a moment old. An error is retried with back-off; Result.After is a wait
// for something that is known to take time. It must be idempotent.
type Reconcile func(ctx context.Context, key string) (Result, error)

// Options of a controller; the zero value is fine.
type Options struct {
	// Workers is the number of keys reconciled at a time; 4 when zero.
	Workers int
	// MinBackoff and MaxBackoff bound the delay before a failed key's next try; 5 ms and 30 s when zero.
	MinBackoff, MaxBackoff time.Duration
	// Timeout bounds one reconcile; 1 minute when zero.
	Timeout time.Duration
	// Service is the service that the spans belong to; "controllers" when empty.
	Service string
	Clock   clock.WithTicker
	Logger  *slog.Logger
}

// Controller is a queue of keys and the workers that reconcile them.
type Controller struct {
	name      string
	reconcile Reconcile
	options   Options
	queue     workqueue.TypedRateLimitingInterface[string]
	causes    causes
	tracer    trace.Tracer
	log       *slog.Logger
}

// New makes a controller; name is for spans, metrics and logs: "replicaset".
func New(name string, reconcile Reconcile, options Options) *Controller {
	if options.Workers == 0 {
		options.Workers = 4
	}
	if options.MinBackoff == 0 {
		options.MinBackoff = 5 * time.Millisecond
	}
	if options.MaxBackoff == 0 {
		options.MaxBackoff = 30 * time.Second
	}
	if options.Timeout == 0 {
		options.Timeout = time.Minute
	}
	if options.Service == "" {
		options.Service = "controllers"
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](options.MinBackoff, options.MaxBackoff)
	return &Controller{
		name: name, reconcile: reconcile, options: options,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[string]{Clock: options.Clock}),

		tracer: telemetry.Tracer(options.Service),
		log:    options.Logger.With("controller", name),
	}
}

// Name is the controller's name.
func (c *Controller) Name() string { return c.name }

// Enqueue asks for a reconcile of key because of cause.
func (c *Controller) Enqueue(key string, cause informer.Cause) {
	c.causes.add(key, cause.TraceParent)
	c.queue.Add(key)
	queueDepth.WithLabelValues(c.name).Set(float64(c.queue.Len()))
}

// EnqueueAfter asks for a reconcile of key after d.
func (c *Controller) EnqueueAfter(key string, d time.Duration) { c.queue.AddAfter(key, d) }

// Run reconciles until ctx is over, and returns when the last worker has. A controller runs once.
func (c *Controller) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.queue.ShutDown)
	defer stop()
	var workers sync.WaitGroup
	for range c.options.Workers {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	workers.Wait()
	return ctx.Err()
}

// next reconciles one key; false when the queue is shut down.
func (c *Controller) next(ctx context.Context) bool {
	key, down := c.queue.Get()
	if down {
		return false
	}
	defer c.queue.Done(key)
	queueDepth.WithLabelValues(c.name).Set(float64(c.queue.Len()))
	if ctx.Err() != nil {
		return true
	}
	why := c.causes.take(key)
	start := c.options.Clock.Now()
	result, err := c.once(ctx, key, why)
	reconcileSeconds.WithLabelValues(c.name, outcome(err)).Observe(c.options.Clock.Since(start).Seconds())
	switch {
	case err != nil && ctx.Err() != nil:
		// Shutting down; whatever is unfinished is found again at the next start.
	case apierrors.IsConflict(err):
		// The cache was behind: the change that it did not show is on its way.
		c.log.Debug("object changed meanwhile, trying again", "key", key, "error", err)
		c.causes.restore(key, why)
		c.queue.AddRateLimited(key)
	case err != nil:
		c.log.Warn("reconcile failed", "key", key, "error", err, "failures", c.queue.NumRequeues(key)+1)
		c.causes.restore(key, why)
		c.queue.AddRateLimited(key)
	default:
		c.queue.Forget(key)
		if result.After > 0 {
			c.queue.AddAfter(key, result.After)
		}
	}
	return true
}

// once calls Reconcile in a span of its own.
func (c *Controller) once(ctx context.Context, key string, causes []string) (result Result, err error) {
	ctx, span := telemetry.StartLinked(ctx, c.tracer, "reconcile "+c.name, causes,
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.String("orrery.controller", c.name), attribute.String("orrery.key", key)))
	defer func() {
		if apierrors.IsConflict(err) {
			telemetry.End(span, nil)
			return
		}
		telemetry.End(span, err)
	}()
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("reconcile panicked", "key", key, "panic", r, "stack", string(debug.Stack()))
			result, err = Result{}, fmt.Errorf("reconcile of %s %q panicked: %v", c.name, key, r)
		}
	}()
	return c.reconcile(ctx, key)
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "success"
	case apierrors.IsConflict(err):
		return "conflict"
	case errors.Is(err, context.Canceled):
		return "canceled"
	}
	return "error"
}
