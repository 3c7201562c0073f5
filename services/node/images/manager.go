package images

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/backoff"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/events"
	"github.com/orrery-io/orrery/services/node/podconfig"
)

// Back-off between pulls of an image for a pod.
const (
	initialBackoff = 10 * time.Second
	mostBackoff    = 5 * time.Minute
	// shownFor is how long a failed pull shows as ErrImagePull before it shows as ImagePullBackOff.
	shownFor = 2 * time.Second
)

// Waiting reasons of a container without an image.
const (
	ErrImagePull      = "ErrImagePull"
	ImagePullBackOff  = "ImagePullBackOff"
	InvalidImageName  = "InvalidImageName"
	ErrImageNeverPull = "ErrImageNeverPull"
	ImageInspectError = "ImageInspectError"
)

// Result of Ensure: an image, or Pending while it is fetched, or Reason and Message why there is none.
type Result struct {
	// Ref is what to create the container from, Image what the runtime says of it.
	Ref     string
	Image   *runtimeapi.Image
	Pending bool
	Reason  string
	Message string
	// Retry is when to ask again, from now; 0 means when woken.
	Retry time.Duration
}

// Manager pulls images. It is safe for concurrent use.
type Manager struct {
	runtime cri.Runtime
	sources podconfig.Sources
	events  *events.Recorder
	clock   clock.Clock
	logger  *slog.Logger
	backoff *backoff.Backoff
	wake    func(types.UID)
	ctx     context.Context
	cancel  context.CancelFunc
	group   sync.WaitGroup

	mu    sync.Mutex
	pulls map[key]*pull
	// locks has a channel per image that is being pulled, closed when it is done.
	locks map[string]chan struct{}
}

// key is one container's need for an image.
type key struct {
	pod              types.UID
	container, image string
}

type pull struct {
	done bool
	ref  string
	err  error
	// failed is when err happened; told and toldBackoff say which of its events are out.
	failed            time.Time
	told, toldBackoff bool
}

// New makes a Manager; wake is called when a pull for a pod has ended. Close ends it.
func New(runtime cri.Runtime, sources podconfig.Sources, recorder *events.Recorder, clock clock.Clock, logger *slog.Logger, wake func(types.UID)) *Manager {
	ctx, cancel := context.WithCancel(context.Background())
	return &Manager{runtime: runtime, sources: sources, events: recorder, clock: clock, logger: logger, backoff: backoff.New(clock, initialBackoff, mostBackoff), wake: wake,
		ctx: ctx, cancel: cancel, pulls: map[key]*pull{}, locks: map[string]chan struct{}{}}
}

// Close cancels running pulls and waits for them.
func (m *Manager) Close() {
	m.cancel()
	m.group.Wait()
}

func backoffKey(pod types.UID, image string) string { return string(pod) + "_" + image }

// Ensure sees to it that the container's image is there, by its pull policy.
func (m *Manager) Ensure(ctx context.Context, pod *corev1.Pod, container *corev1.Container, sandbox *runtimeapi.PodSandboxConfig) Result {
	image, err := WithTag(container.Image)
	if err != nil {
		message := fmt.Sprintf("Failed to apply default image tag %q: %v", container.Image, err)
		m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, "InspectFailed", "%s", message)
		return Result{Reason: InvalidImageName, Message: message, Retry: initialBackoff}
	}
	k := key{pod.UID, container.Name, image}
	m.mu.Lock()
	p := m.pulls[k]
	m.mu.Unlock()
	if p != nil {
		if result, ok := m.progress(ctx, pod, container, k, p); ok {
			return result
		}
	}
	present, err := m.runtime.ImageStatus(ctx, image)
	if err != nil {
		message := fmt.Sprintf("Failed to inspect image %q: %v", container.Image, err)
		m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, "InspectFailed", "%s", message)
		return Result{Reason: ImageInspectError, Message: message, Retry: time.Second}
	}
	if present != nil && container.ImagePullPolicy != corev1.PullAlways {
		m.present(ctx, pod, container)
		return Result{Ref: image, Image: present}
	}
	if container.ImagePullPolicy == corev1.PullNever {
		message := fmt.Sprintf("Container image %q is not present with pull policy of Never", container.Image)
		m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, ErrImageNeverPull, "%s", message)
		return Result{Reason: ErrImageNeverPull, Message: message, Retry: initialBackoff}
	}
	m.start(ctx, pod, container, k, sandbox)
	return Result{Pending: true}
}

func (m *Manager) present(ctx context.Context, pod *corev1.Pod, container *corev1.Container) {
	m.events.Container(ctx, pod, container.Name, corev1.EventTypeNormal, "Pulled", "Container image %q already present on machine and can be accessed by the pod", container.Image)
}

// progress says how a pull that was begun stands; ok is false when it is time for another.
func (m *Manager) progress(ctx context.Context, pod *corev1.Pod, container *corev1.Container, k key, p *pull) (_ Result, ok bool) {
	m.mu.Lock()
	done, ref, err, failed, told := p.done, p.ref, p.err, p.failed, p.told
	if done && err == nil {
		delete(m.pulls, k)
	}
	p.told = p.told || done
	m.mu.Unlock()
	if !done {
		return Result{Pending: true}, true
	}
	if err == nil {
		image, err := m.runtime.ImageStatus(ctx, k.image)
		if err != nil || image == nil {
			return Result{}, false // removed in the meantime
		}
		_ = ref // the name is what the runtime finds the image by; the digest is in image
		return Result{Ref: k.image, Image: image}, true
	}
	remaining := m.backoff.Remaining(backoffKey(pod.UID, k.image), failed)
	if remaining == 0 && told {
		return Result{}, false
	}
	if since := m.clock.Since(failed); since < shownFor {
		if !told {
			m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, "Failed", "Failed to pull image %q: %v", container.Image, err)
			m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, "Failed", "Error: %s", ErrImagePull)
		}
		return Result{Reason: ErrImagePull, Message: err.Error(), Retry: min(remaining, shownFor-since)}, true
	}
	m.mu.Lock()
	again := p.toldBackoff
	p.toldBackoff = true
	m.mu.Unlock()
	if !again {
		m.events.Container(ctx, pod, container.Name, corev1.EventTypeNormal, "BackOff", "Back-off pulling image %q", container.Image)
		m.events.Container(ctx, pod, container.Name, corev1.EventTypeWarning, "Failed", "Error: %s", ImagePullBackOff)
	}
	return Result{Reason: ImagePullBackOff, Message: fmt.Sprintf("Back-off pulling image %q: %s: %v", container.Image, ErrImagePull, err), Retry: max(remaining, time.Millisecond)}, true
}

// start pulls in a goroutine of its own.
func (m *Manager) start(ctx context.Context, pod *corev1.Pod, container *corev1.Container, k key, sandbox *runtimeapi.PodSandboxConfig) {
	p := &pull{}
	m.mu.Lock()
	m.pulls[k] = p
	m.mu.Unlock()
	// The pull belongs to the worker's trace but outlives its turn.
	background := trace.ContextWithSpanContext(cri.WithNames(m.ctx, pod.Namespace, pod.Name, container.Name), trace.SpanContextFromContext(ctx))
	m.group.Go(func() {
		ref, err := m.pull(background, pod, container, k.image, sandbox)
		m.mu.Lock()
		p.done, p.ref, p.err, p.failed = true, ref, err, m.clock.Now()
		m.mu.Unlock()
		if err != nil {
			m.backoff.Next(backoffKey(pod.UID, k.image), m.clock.Now())
		}
		m.wake(pod.UID)
	})
}

func (m *Manager) pull(ctx context.Context, pod *corev1.Pod, container *corev1.Container, image string, sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	asked := m.clock.Now()
	unlock, err := m.lock(ctx, image)
	if err != nil {
		return "", err
	}
	defer unlock()
	if container.ImagePullPolicy != corev1.PullAlways {
		// Whoever had the lock before may have brought it.
		if present, err := m.runtime.ImageStatus(ctx, image); err == nil && present != nil {
			m.present(ctx, pod, container)
			return image, nil
		}
	}
	m.events.Container(ctx, pod, container.Name, corev1.EventTypeNormal, "Pulling", "Pulling image %q", container.Image)
	began := m.clock.Now()
	ref, err := m.runtime.PullImage(ctx, image, m.credentials(ctx, pod, image), sandbox)
	if err != nil {
		if ctx.Err() != nil {
			return "", errors.New("pull cancelled")
		}
		return "", err
	}
	size := uint64(0)
	if pulled, err := m.runtime.ImageStatus(ctx, image); err == nil {
		size = pulled.GetSize()
	}
	m.events.Container(ctx, pod, container.Name, corev1.EventTypeNormal, "Pulled", "Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.",
		container.Image, m.clock.Since(began).Truncate(time.Millisecond), m.clock.Since(asked).Truncate(time.Millisecond), size)
	return ref, nil
}

// lock waits until nobody else pulls the image.
func (m *Manager) lock(ctx context.Context, image string) (unlock func(), err error) {
	for {
		m.mu.Lock()
		held, ok := m.locks[image]
		if !ok {
			released := make(chan struct{})
			m.locks[image] = released
			m.mu.Unlock()
			return func() {
				m.mu.Lock()
				delete(m.locks, image)
				m.mu.Unlock()
				close(released)
			}, nil
		}
		m.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Forget drops what is known of a pod that is gone.
func (m *Manager) Forget(pod types.UID) {
	m.mu.Lock()
	for k := range m.pulls {
		if k.pod == pod {
			delete(m.pulls, k)
		}
	}
	m.mu.Unlock()
	m.backoff.Forget(func(key string) bool { return strings.HasPrefix(key, string(pod)+"_") })
}
