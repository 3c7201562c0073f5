package podworker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/backoff"
	"github.com/orrery-io/orrery/services/node/cgroups"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/events"
	"github.com/orrery-io/orrery/services/node/images"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/prober"
	"github.com/orrery-io/orrery/services/node/status"
	"github.com/orrery-io/orrery/services/node/volumes"
)

// Back-off between restarts of a container that keeps ending.
const (
	crashInitial = 10 * time.Second
	crashMost    = 5 * time.Minute
)

// Deleter deletes pods from the api.
type Deleter interface {
	DeletePod(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
}

// Deps are the parts that workers use.
type Deps struct {
	Runtime cri.Runtime
	Reader  *podstate.Reader
	Images  *images.Manager
	Volumes *volumes.Manager
	// Cgroups may be nil: then the runtime's are all there are.
	Cgroups *cgroups.Manager
	Status  *status.Writer
	Probes  *prober.Manager
	Checker *prober.Checker
	Events  *events.Recorder
	Host    podconfig.Host
	Sources podconfig.Sources
	Deleter Deleter
	// Poke tells the watcher of the runtime that something is being done.
	Poke   func()
	Clock  clock.Clock
	Logger *slog.Logger
}

// Manager has a worker for each pod. It is safe for concurrent use.
type Manager struct {
	deps    Deps
	backoff *backoff.Backoff
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu      sync.Mutex
	workers map[types.UID]*worker
}

// New makes a Manager. Close ends it.
func New(deps Deps) *Manager {
	ctx, cancel := context.WithCancel(context.Background())
	return &Manager{deps: deps, backoff: backoff.New(deps.Clock, crashInitial, crashMost), ctx: ctx, cancel: cancel, workers: map[types.UID]*worker{}}
}

// Close stops the workers where they are and waits for them; containers stay as they are.
func (m *Manager) Close() {
	m.cancel()
	m.group.Wait()
}

// Update tells of a new or changed pod of this node. traceParent is the W3C trace context of the write behind it, or empty.
func (m *Manager) Update(pod *corev1.Pod, traceParent string) {
	m.mu.Lock()
	w := m.workers[pod.UID]
	if w == nil {
		w = m.begin(pod.UID)
	}
	m.mu.Unlock()
	w.update(pod, spanContext(traceParent))
}

// Gone tells that the api no longer has the pod: whatever is left of it is ended quickly.
func (m *Manager) Gone(uid types.UID) {
	m.mu.Lock()
	w := m.workers[uid]
	if w != nil && w.finished {
		delete(m.workers, uid)
	}
	m.mu.Unlock()
	if w != nil {
		w.vanish()
	}
}

// Adopt ends a pod that the runtime has but the api does not.
func (m *Manager) Adopt(uid types.UID) {
	m.mu.Lock()
	w := m.workers[uid]
	if w == nil {
		w = m.begin(uid)
	}
	m.mu.Unlock()
	w.vanish()
}

// Wake has a pod looked at again.
func (m *Manager) Wake(uid types.UID) {
	m.mu.Lock()
	w := m.workers[uid]
	m.mu.Unlock()
	if w != nil {
		w.wake()
	}
}

// Knows tells whether the pod has a worker.
func (m *Manager) Knows(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.workers[uid] != nil
}

// Len is the number of pods.
func (m *Manager) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.workers)
}

// begin starts a worker; m.mu is held.
func (m *Manager) begin(uid types.UID) *worker {
	w := newWorker(m, uid)
	m.workers[uid] = w
	m.group.Go(func() {
		w.run(m.ctx)
		m.mu.Lock()
		defer m.mu.Unlock()
		// A pod that the api may still tell of keeps its place, so that a late event does not begin it anew.
		if w.finished = true; w.isGone() {
			delete(m.workers, uid)
		}
	})
	return w
}

var propagator = propagation.TraceContext{}

// spanContext reads a W3C traceparent.
func spanContext(traceParent string) trace.SpanContext {
	if traceParent == "" {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagator.Extract(context.Background(), propagation.MapCarrier{"traceparent": traceParent}))
}
