package scheduler

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/queue"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Recorder posts events about objects.
type Recorder interface {
	Event(ctx context.Context, obj apiclient.Object, eventType, reason, format string, args ...any)
}

// Name is the spec.schedulerName that this scheduler answers to.
const Name = corev1.DefaultSchedulerName

// Scheduler decides and binds.
type Scheduler struct {
	client    *apiclient.Client
	framework *framework.Framework
	cache     *snapshot.Cache
	queue     *queue.Queue
	events    Recorder
	logger    *slog.Logger
	clock     clock.Clock
	tracer    trace.Tracer

	pods  *informer.Informer[*corev1.Pod]
	nodes *informer.Informer[*corev1.Node]

	start int // where the next search over the nodes begins; the loop's own
	slots chan struct{}
	group sync.WaitGroup
}

// bindings is how many bindings and refusals are written at once.
const bindings = 64

// NewScheduler makes a scheduler on a framework.
func NewScheduler(client *apiclient.Client, f *framework.Framework, events Recorder, logger *slog.Logger, clk clock.Clock) *Scheduler {
	s := &Scheduler{client: client, framework: f, cache: snapshot.NewCache(), queue: queue.New(f, clk), events: events, logger: logger, clock: clk, tracer: telemetry.Tracer("scheduler"), slots: make(chan struct{}, bindings)}
	s.watch()
	return s
}

// Run schedules until ctx is over, and returns when every binding that was begun has ended.
func (s *Scheduler) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer s.group.Wait()
	defer cancel()
	s.group.Go(func() { _ = s.pods.Run(ctx) })
	s.group.Go(func() { _ = s.nodes.Run(ctx) })
	// Nodes first: a pod that is tried before they are known would fail for no reason.
	if err := informer.WaitForSync(ctx, s.nodes, s.pods); err != nil {
		return err
	}
	for {
		item, err := s.queue.Pop(ctx)
		if err != nil {
			return err
		}
		s.schedule(ctx, item)
	}
}

// Synced is closed when the scheduler knows the cluster.
func (s *Scheduler) Synced() <-chan struct{} { return s.pods.Synced() }

// schedule tries one pod: decides on the loop, writes beside it.
func (s *Scheduler) schedule(ctx context.Context, item *queue.Item) {
	pod := item.Pod
	if pod.DeletionTimestamp != nil || s.cache.Has(pod.UID) {
		s.queue.Done(item)
		return
	}
	ctx, span := s.tracer.Start(telemetry.ContextWithTraceParent(ctx, item.TraceParent), "schedule",
		trace.WithAttributes(attribute.String("pod", pod.Namespace+"/"+pod.Name), attribute.Int("attempt", item.Attempts)))
	state, info := framework.NewCycleState(), snapshot.NewPodInfo(pod)
	node, err := s.decide(ctx, state, info, s.cache.Snapshot())
	if err == nil {
		err = s.cache.Assume(info, node)
	}
	if err != nil {
		s.beside(func() {
			defer span.End()
			s.refuse(ctx, item, err)
		})
		return
	}
	if status := s.framework.RunReserve(ctx, state, pod, node); !status.OK() {
		s.cache.Forget(pod.UID)
		s.beside(func() {
			defer span.End()
			s.refuse(ctx, item, statusError(status))
		})
		return
	}
	span.SetAttributes(attribute.String("node", node))
	s.beside(func() {
		defer span.End()
		s.bind(ctx, state, item, node)
	})
}

// beside runs f in one of a bounded number of goroutines; it blocks while all are busy.
func (s *Scheduler) beside(f func()) {
	s.slots <- struct{}{}
	s.group.Go(func() {
		defer func() { <-s.slots }()
		f()
	})
}
