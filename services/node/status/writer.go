package status

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// concurrentWrites bounds how many statuses are on their way at once.
const concurrentWrites = 32

// Back-off between attempts to write while the api is away.
const (
	minRetry = 100 * time.Millisecond
	maxRetry = 10 * time.Second
)

// API stores statuses.
type API interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	UpdatePodStatus(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
}

// Writer writes statuses: the newest of each pod, one at a time per pod, until it has arrived. It is safe for concurrent use.
type Writer struct {
	api    API
	clock  clock.Clock
	logger *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	group  sync.WaitGroup
	slots  chan struct{}

	mu   sync.Mutex
	pods map[types.UID]*pending
}

// pending is what is to be written of one pod.
type pending struct {
	// pod is the newest version known, to write on top of.
	pod     *corev1.Pod
	want    corev1.PodStatus
	version int
	written int
	busy    bool
	span    trace.SpanContext
	// gone says that the pod is no longer in the api.
	gone bool
	// settled is closed when all is written or the pod is gone, and replaced when there is something new.
	settled chan struct{}
}

// NewWriter makes a Writer; Close ends it.
func NewWriter(api API, clock clock.Clock, logger *slog.Logger) *Writer {
	ctx, cancel := context.WithCancel(context.Background())
	return &Writer{api: api, clock: clock, logger: logger, ctx: ctx, cancel: cancel, slots: make(chan struct{}, concurrentWrites), pods: map[types.UID]*pending{}}
}

// Close gives up what is unwritten and waits for the goroutines.
func (w *Writer) Close() {
	w.cancel()
	w.group.Wait()
}

// Set asks for the status to be written onto the pod, whose version is the newest that the caller knows. It returns at once.
func (w *Writer) Set(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[pod.UID]
	if p == nil {
		settled := make(chan struct{})
		close(settled)
		// What the api has is taken as written, if the node wrote it: then an agent that restarts does not write all pods again.
		p = &pending{pod: pod, want: pod.Status, settled: settled}
		w.pods[pod.UID] = p
	}
	if newer(pod, p.pod) {
		p.pod = pod
	}
	merged := Merge(&p.pod.Status, &status)
	if p.version == p.written && equality.Semantic.DeepEqual(merged, p.pod.Status) || p.version > 0 && equality.Semantic.DeepEqual(status, p.want) || p.gone {
		return
	}
	if p.version == p.written {
		p.settled = make(chan struct{})
	}
	p.want, p.span = status, trace.SpanContextFromContext(ctx)
	p.version++
	if !p.busy {
		p.busy = true
		w.group.Go(func() { w.write(p) })
	}
}

// Settled returns a channel that is closed once everything set for the pod so far is written, or the pod is gone from the api.
func (w *Writer) Settled(uid types.UID) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		return p.settled
	}
	done := make(chan struct{})
	close(done)
	return done
}

// Latest is the pod as last written or seen, if it is newer than the given one: what an informer shows may lag behind the node's own writes.
func (w *Writer) Latest(pod *corev1.Pod) *corev1.Pod {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[pod.UID]; p != nil && newer(p.pod, pod) {
		return p.pod
	}
	return pod
}

// Forget drops a pod.
func (w *Writer) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.pods[uid]; p != nil {
		if !p.gone && p.version != p.written {
			close(p.settled)
		}
		p.gone = true
		delete(w.pods, uid)
	}
}

// write brings one pod's status up to date.
func (w *Writer) write(p *pending) {
	retry := minRetry
	for {
		w.mu.Lock()
		if p.version == p.written || p.gone {
			p.busy = false
			w.mu.Unlock()
			return
		}
		version, span := p.version, p.span
		pod := p.pod.DeepCopy()
		pod.Status = Merge(&p.pod.Status, &p.want)
		w.mu.Unlock()

		select {
		case w.slots <- struct{}{}:
		case <-w.ctx.Done():
			return
		}
		ctx, cancel := context.WithTimeout(trace.ContextWithSpanContext(w.ctx, span), 30*time.Second)
		stored, err := w.api.UpdatePodStatus(ctx, pod)
		if apierrors.IsConflict(err) {
			// Somebody else wrote; go on from what is there now.
			stored, err = w.api.Pod(ctx, pod.Namespace, pod.Name)
			version = -1
		}
		cancel()
		<-w.slots
		if w.ctx.Err() != nil {
			return
		}
		if w.note(p, stored, version, err) {
			retry = minRetry
			continue
		}
		w.logger.Warn("pod status not written, trying again", "pod", pod.Namespace+"/"+pod.Name, "error", err, "retry_in", retry)
		select {
		case <-w.clock.After(retry):
			retry = min(2*retry, maxRetry)
		case <-w.ctx.Done():
			return
		}
	}
}

// note takes in what the api answered; false means to wait before going on. version is the one that was written, -1 when none was.
func (w *Writer) note(p *pending, stored *corev1.Pod, version int, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err), err == nil && stored.UID != p.pod.UID:
		if !p.gone {
			p.gone = true
			close(p.settled)
		}
		return true
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		// The same again would fail the same way; the next change is another chance.
		w.logger.Error("the api refuses a pod status", "pod", p.pod.Namespace+"/"+p.pod.Name, "error", err)
		version = max(version, p.written)
	case err != nil:
		return false
	default:
		if newer(stored, p.pod) {
			p.pod = stored
		}
	}
	if version > p.written {
		p.written = version
	}
	if p.written == p.version && !p.gone {
		select {
		case <-p.settled:
		default:
			close(p.settled)
		}
	}
	return true
}

// newer compares two versions of one pod.
func newer(a, b *corev1.Pod) bool {
	if len(a.ResourceVersion) != len(b.ResourceVersion) {
		return len(a.ResourceVersion) > len(b.ResourceVersion)
	}
	return a.ResourceVersion > b.ResourceVersion
}
