package podstate

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/cri"
)

// How often the runtime is asked for everything: while pods change, when all is quiet, and beside a stream of events.
const (
	busyPeriod   = 150 * time.Millisecond
	quietPeriod  = time.Second
	eventsPeriod = 30 * time.Second
	// busyFor is how long after the last change or operation the runtime counts as busy.
	busyFor = 3 * time.Second
)

// Watcher notices that containers and sandboxes changed and tells which pods they belong to.
type Watcher struct {
	runtime cri.Runtime
	clock   clock.Clock
	logger  *slog.Logger
	changed func(types.UID)
	poke    chan struct{}
	events  atomic.Bool
	healthy atomic.Int64
	// seen is the state of each container and sandbox, and its pod.
	seen map[string]observed
}

type observed struct {
	pod   types.UID
	state int32
}

// NewWatcher makes a Watcher that calls changed from its own goroutines; changed must not block.
func NewWatcher(runtime cri.Runtime, clock clock.Clock, logger *slog.Logger, changed func(types.UID)) *Watcher {
	return &Watcher{runtime: runtime, clock: clock, logger: logger, changed: changed, poke: make(chan struct{}, 1), seen: map[string]observed{}}
}

// Poke says that something is being done to containers, so that the outcome is looked for soon.
func (w *Watcher) Poke() {
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

// LastSeen is when the runtime last answered a listing; zero before the first.
func (w *Watcher) LastSeen() time.Time {
	if ns := w.healthy.Load(); ns != 0 {
		return time.Unix(0, ns)
	}
	return time.Time{}
}

// Run watches until ctx is over.
func (w *Watcher) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.follow(ctx)
	}()
	defer func() { <-done }()
	busyUntil := w.clock.Now().Add(busyFor)
	for {
		if w.list(ctx) {
			busyUntil = w.clock.Now().Add(busyFor)
		}
		period := quietPeriod
		switch {
		case w.events.Load():
			period = eventsPeriod
		case w.clock.Now().Before(busyUntil):
			period = busyPeriod
		}
		timer := w.clock.NewTimer(period)
		select {
		case <-timer.C():
		case <-w.poke:
			if busyUntil = w.clock.Now().Add(busyFor); !w.events.Load() {
				// Not at once: what was started has hardly had time to end.
				select {
				case <-w.clock.After(busyPeriod):
				case <-ctx.Done():
				}
			} else {
				select {
				case <-timer.C():
				case <-ctx.Done():
				}
			}
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// list compares everything with what was seen before and reports the pods that differ.
func (w *Watcher) list(ctx context.Context) (any bool) {
	sandboxes, err := w.runtime.ListPodSandboxes(ctx, nil)
	var containers []*runtimeapi.Container
	if err == nil {
		containers, err = w.runtime.ListContainers(ctx, nil)
	}
	if err != nil {
		if ctx.Err() == nil {
			w.logger.Warn("the container runtime does not answer", "error", cri.Message(err))
		}
		return false
	}
	w.healthy.Store(w.clock.Now().UnixNano())
	now := make(map[string]observed, len(sandboxes)+len(containers))
	for _, s := range sandboxes {
		now[s.Id] = observed{types.UID(s.Labels[cri.LabelPodUID]), int32(s.State)}
	}
	for _, c := range containers {
		now[c.Id] = observed{types.UID(c.Labels[cri.LabelPodUID]), int32(c.State)}
	}
	pods := map[types.UID]struct{}{}
	for id, o := range now {
		if w.seen[id] != o {
			pods[o.pod] = struct{}{}
		}
	}
	for id, o := range w.seen {
		if _, ok := now[id]; !ok {
			pods[o.pod] = struct{}{}
		}
	}
	w.seen = now
	for uid := range pods {
		w.changed(uid)
	}
	return len(pods) > 0
}

// follow reads the runtime's events, where it has them.
func (w *Watcher) follow(ctx context.Context) {
	for {
		err := w.runtime.Events(ctx, func(event *runtimeapi.ContainerEventResponse) {
			w.events.Store(true)
			if uid := event.GetPodSandboxStatus().GetMetadata().GetUid(); uid != "" {
				w.changed(types.UID(uid))
			} else {
				w.Poke()
			}
		})
		w.events.Store(false)
		if ctx.Err() != nil || cri.IsUnimplemented(err) {
			return
		}
		select {
		case <-w.clock.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}
