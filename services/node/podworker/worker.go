package podworker

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/status"
)

// tracer is asked for anew by each span: what it is follows from what the process set up after this package was loaded.
func tracer() trace.Tracer { return telemetry.Tracer("node") }

const (
	// runtimeRetry is the pause after the runtime did not answer.
	runtimeRetry = time.Second
	// refreshPeriod is how often volumes that come from the api are compared with it.
	refreshPeriod = time.Minute
	// maxCauses bounds the links of a sync's span.
	maxCauses = 16
)

// worker looks after one pod.
type worker struct {
	m      *Manager
	uid    types.UID
	signal chan struct{}
	// goneC is closed when the api no longer has the pod.
	goneC chan struct{}
	// finished is guarded by the manager's mu.
	finished bool

	mu     sync.Mutex
	pod    *corev1.Pod
	gone   bool
	causes []trace.SpanContext
	// interrupt ends what a sync is waiting for, because the pod is to be stopped.
	interrupt context.CancelFunc

	// What follows belongs to the worker's goroutine.

	// cause is the trace that the pod's present changes belong to, until they are done.
	cause    trace.SpanContext
	waiting  map[string]status.Waiting
	failure  *status.Waiting
	stopping *stopRun
	// volumes are the pod's, made ready at refreshed.
	volumes   map[string]string
	refreshed time.Time
	// attempts has the retries of things that failed, by what it was.
	attempts map[string]int
	retryAt  map[string]time.Time
	// told remembers, for events that must not repeat, what they were about.
	told map[string]string
}

func newWorker(m *Manager, uid types.UID) *worker {
	return &worker{m: m, uid: uid, signal: make(chan struct{}, 1), goneC: make(chan struct{}), waiting: map[string]status.Waiting{}, attempts: map[string]int{},
		retryAt: map[string]time.Time{}, told: map[string]string{}, interrupt: func() {}}
}

func (w *worker) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// update takes in a version of the pod. What the node itself wrote is no reason to look again.
func (w *worker) update(pod *corev1.Pod, cause trace.SpanContext) {
	w.mu.Lock()
	old := w.pod
	w.pod = pod
	matters := old == nil || !sameForNode(old, pod)
	if matters && cause.IsValid() && len(w.causes) < maxCauses {
		w.causes = append(w.causes, cause)
	}
	if pod.DeletionTimestamp != nil {
		w.interrupt()
	}
	w.mu.Unlock()
	if matters {
		w.wake()
	}
}

// sameForNode tells that nothing changed between two versions that the worker acts on.
func sameForNode(a, b *corev1.Pod) bool {
	return a.DeletionTimestamp.Equal(b.DeletionTimestamp) && equality.Semantic.DeepEqual(a.DeletionGracePeriodSeconds, b.DeletionGracePeriodSeconds) &&
		equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		equality.Semantic.DeepEqual(gates(a), gates(b)) && a.Generation == b.Generation
}

// gates are the conditions that the pod's readiness waits for, and others make.
func gates(pod *corev1.Pod) []corev1.ConditionStatus {
	var out []corev1.ConditionStatus
	for _, gate := range pod.Spec.ReadinessGates {
		for _, c := range pod.Status.Conditions {
			if c.Type == gate.ConditionType {
				out = append(out, c.Status)
			}
		}
	}
	return out
}

func (w *worker) vanish() {
	w.mu.Lock()
	if !w.gone {
		w.gone = true
		close(w.goneC)
	}
	w.interrupt()
	w.mu.Unlock()
	w.wake()
}

func (w *worker) isGone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone
}

// run is the loop: it ends when nothing of the pod is left, or with ctx.
func (w *worker) run(ctx context.Context) {
	var next time.Duration
	for {
		if !w.pause(ctx, next) {
			return
		}
		var done bool
		if done, next = w.sync(ctx); done || ctx.Err() != nil {
			return
		}
	}
}

// pause waits to be woken, or until next has passed (0: for ever); false means that ctx is over.
func (w *worker) pause(ctx context.Context, next time.Duration) bool {
	var due <-chan time.Time
	if next > 0 {
		timer := w.m.deps.Clock.NewTimer(next)
		defer timer.Stop()
		due = timer.C()
	}
	select {
	case <-w.signal:
		return true
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

// sync is one turn. next is when to look again without being woken; 0 means not.
func (w *worker) sync(ctx context.Context) (done bool, next time.Duration) {
	w.mu.Lock()
	pod, gone, causes := w.pod, w.gone, w.causes
	w.causes = nil
	soft, cancel := context.WithCancel(ctx)
	defer cancel()
	w.interrupt = cancel
	if gone || pod != nil && pod.DeletionTimestamp != nil {
		w.interrupt = func() {} // being stopped already: there is nothing to interrupt
	}
	w.mu.Unlock()

	ctx, end := w.trace(ctx, pod, causes)
	defer end()
	soft = trace.ContextWithSpan(soft, trace.SpanFromContext(ctx))
	if pod != nil {
		pod = w.m.deps.Status.Latest(pod)
		ctx = cri.WithNames(ctx, pod.Namespace, pod.Name, "")
		soft = cri.WithNames(soft, pod.Namespace, pod.Name, "")
	}
	state, err := w.m.deps.Reader.Read(ctx, w.uid)
	if err != nil {
		if ctx.Err() == nil {
			w.m.deps.Logger.Warn("the container runtime cannot be asked about a pod", "pod_uid", w.uid, "error", err)
		}
		return false, runtimeRetry
	}
	switch {
	case pod == nil && !gone:
		return false, 0
	case gone || pod.DeletionTimestamp != nil:
		return w.terminate(ctx, pod, state, gone)
	}
	t := &turn{worker: w, ctx: ctx, soft: soft, pod: pod, state: state}
	next = t.converge()
	if len(w.waiting) == 0 && !t.pending && t.begun() {
		w.cause = trace.SpanContext{} // done: what comes next has causes of its own
	}
	return false, next
}

// trace begins the turn's span below the write that caused it. A turn without a new cause goes on in the trace of the last one while the pod
// is not where it should be, and has no span otherwise.
func (w *worker) trace(ctx context.Context, pod *corev1.Pod, causes []trace.SpanContext) (context.Context, func()) {
	if len(causes) > 0 {
		w.cause = causes[len(causes)-1]
	}
	if !w.cause.IsValid() {
		return ctx, func() {}
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attribute.String("k8s.pod.uid", string(w.uid)), attribute.String("k8s.node.name", w.m.deps.Host.NodeName))}
	if pod != nil {
		options = append(options, trace.WithAttributes(attribute.String("k8s.namespace.name", pod.Namespace), attribute.String("k8s.pod.name", pod.Name)))
	}
	for _, other := range slices.Backward(causes) {
		if !other.Equal(w.cause) {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: other}))
		}
	}
	ctx, span := tracer().Start(trace.ContextWithRemoteSpanContext(ctx, w.cause), "node sync pod", options...)
	return ctx, func() { span.End() }
}

// turn is what one sync works with.
type turn struct {
	*worker
	ctx context.Context
	// soft ends early when the pod is to be stopped.
	soft  context.Context
	pod   *corev1.Pod
	state *podstate.Pod
	next  time.Duration
	// pending says that an image is being fetched.
	pending bool
}

// begun tells that every container has been started.
func (t *turn) begun() bool {
	for _, c := range t.pod.Spec.Containers {
		if t.state.Latest(c.Name) == nil {
			return false
		}
	}
	return true
}

// again asks for another turn after d at the latest.
func (t *turn) again(d time.Duration) {
	if d > 0 && (t.next == 0 || d < t.next) {
		t.next = d
	}
}

// reread asks the runtime anew after something was done.
func (t *turn) reread() error {
	t.m.deps.Poke()
	state, err := t.m.deps.Reader.Read(t.ctx, t.uid)
	if err != nil {
		return err
	}
	t.state = state
	return nil
}

// failed counts a failure of something and returns the pause before it is tried again: 1 s, doubling up to 10 s.
func (t *turn) failed(what string) time.Duration {
	pause := min(time.Second<<min(t.attempts[what], 4), 10*time.Second)
	t.attempts[what]++
	t.retryAt[what] = t.m.deps.Clock.Now().Add(pause)
	return pause
}

// held tells how long something that failed still has to pause.
func (t *turn) held(what string) time.Duration {
	return max(0, t.retryAt[what].Sub(t.m.deps.Clock.Now()))
}

// worked ends the pauses of something.
func (t *turn) worked(what string) {
	delete(t.attempts, what)
	delete(t.retryAt, what)
}
