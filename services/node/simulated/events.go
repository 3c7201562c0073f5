package simulated

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// eventBuffer is how many events a watcher may be behind; one that is further behind is cut off and has to look for itself.
const eventBuffer = 1024

// Events implements cri.Runtime.
func (r *Runtime) Events(ctx context.Context, handle func(*runtimeapi.ContainerEventResponse)) error {
	events := make(chan *runtimeapi.ContainerEventResponse, eventBuffer)
	r.mu.Lock()
	r.watcher++
	key := r.watcher
	r.watchers[key] = events
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.watchers, key)
		r.mu.Unlock()
	}()
	for {
		select {
		case event, ok := <-events:
			if !ok {
				return status.Error(codes.ResourceExhausted, "too slow a watcher")
			}
			handle(event)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// tell sends an event to all watchers; r.mu is held.
func (r *Runtime) tell(kind runtimeapi.ContainerEventType, c *container) {
	if len(r.watchers) == 0 {
		return
	}
	event := &runtimeapi.ContainerEventResponse{ContainerId: c.id, ContainerEventType: kind, CreatedAt: r.clock.Now().UnixNano(), PodSandboxStatus: c.sandbox.status(),
		ContainersStatuses: []*runtimeapi.ContainerStatus{c.copy()}}
	for key, events := range r.watchers {
		select {
		case events <- event:
		default:
			close(events)
			delete(r.watchers, key)
		}
	}
}
