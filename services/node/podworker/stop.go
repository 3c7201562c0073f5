package podworker

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/prober"
	"github.com/orrery-io/orrery/services/node/status"
)

const (
	// minGrace is what a container gets even when the pod is to go at once.
	minGrace     = 2 * time.Second
	defaultGrace = 30 * time.Second
)

// stopRun is the stopping of all of a pod's containers, in a goroutine.
type stopRun struct {
	cancel context.CancelFunc
	done   chan struct{}
	grace  time.Duration
}

func (r *stopRun) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// stopAll begins to stop the containers that run, or does so again when they are now given less time. It is true when none runs any more.
func (w *worker) stopAll(ctx context.Context, pod *corev1.Pod, state *podstate.Pod, grace time.Duration) bool {
	running := state.Running()
	if w.stopping != nil {
		if !w.stopping.over() {
			if grace >= w.stopping.grace {
				return false
			}
			w.stopping.cancel()
			<-w.stopping.done
		}
		w.stopping.cancel()
		w.stopping = nil
		if len(running) == 0 {
			return true
		}
		// Hooks have run, or been cut off; they do not run twice.
		w.stopping = w.beginStop(ctx, pod, running, grace, false)
		return false
	}
	if len(running) == 0 {
		return true
	}
	w.stopping = w.beginStop(ctx, pod, running, grace, true)
	return false
}

func (w *worker) beginStop(ctx context.Context, pod *corev1.Pod, running []*podstate.Container, grace time.Duration, hooks bool) *stopRun {
	ctx, cancel := context.WithCancel(ctx)
	run := &stopRun{cancel: cancel, done: make(chan struct{}), grace: grace}
	w.m.deps.Poke()
	w.m.group.Go(func() {
		defer w.wake()
		defer close(run.done)
		began := w.m.deps.Clock.Now()
		var sidecars []*podstate.Container
		var group sync.WaitGroup
		for _, c := range running {
			if isSidecar(pod, c.Name) {
				sidecars = append(sidecars, c)
				continue
			}
			group.Go(func() { w.stopOne(ctx, pod, c, grace, hooks, "Stopping container "+c.Name) })
		}
		group.Wait()
		// Sidecars go last, the one that came first the very last.
		slices.SortFunc(sidecars, func(a, b *podstate.Container) int { return b.CreatedAt.Compare(a.CreatedAt) })
		for _, c := range sidecars {
			w.stopOne(ctx, pod, c, grace-w.m.deps.Clock.Since(began), hooks, "Stopping container "+c.Name)
		}
	})
	return run
}

func isSidecar(pod *corev1.Pod, name string) bool {
	return pod != nil && slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == name && status.IsSidecar(&c) })
}

// stopOne runs the preStop hook and stops a container within grace.
func (w *worker) stopOne(ctx context.Context, pod *corev1.Pod, c *podstate.Container, grace time.Duration, hook bool, message string) {
	deps := &w.m.deps
	grace = max(grace, minGrace)
	began := deps.Clock.Now()
	if pod != nil {
		ctx = cri.WithNames(ctx, pod.Namespace, pod.Name, c.Name)
		if hook {
			deps.Events.Container(ctx, pod, c.Name, corev1.EventTypeNormal, "Killing", "%s", message)
		}
	}
	if handler, spec := preStop(pod, c); hook && handler != nil {
		bounded, cancel := context.WithTimeout(ctx, grace)
		ip := ""
		if pod != nil {
			ip = pod.Status.PodIP
		}
		if err := deps.Checker.Hook(bounded, prober.Target{ContainerID: c.ID, Container: spec, PodIP: ip}, handler); err != nil && pod != nil {
			deps.Logger.Warn("preStop hook failed", "pod", pod.Namespace+"/"+pod.Name, "container", c.Name, "error", err)
			deps.Events.Container(ctx, pod, c.Name, corev1.EventTypeWarning, "FailedPreStopHook", "PreStopHook failed")
		}
		cancel()
		grace = max(grace-deps.Clock.Since(began), minGrace)
	}
	if err := deps.Runtime.StopContainer(ctx, c.ID, grace); err != nil && ctx.Err() == nil {
		deps.Logger.Error("a container could not be stopped", "container", c.Name, "container_id", c.ID, "error", err)
		// Whoever waits for it tries again at once.
		select {
		case <-deps.Clock.After(runtimeRetry):
		case <-ctx.Done():
		}
	}
}

// preStop finds the hook in the pod or, when the pod is not known any more, on the container.
func preStop(pod *corev1.Pod, c *podstate.Container) (*corev1.LifecycleHandler, *corev1.Container) {
	if pod != nil {
		for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				if list[i].Name == c.Name && list[i].Lifecycle != nil {
					return list[i].Lifecycle.PreStop, &list[i]
				}
			}
		}
		return nil, nil
	}
	handler := &corev1.LifecycleHandler{}
	if raw := c.Annotations[cri.AnnotationPreStopHandler]; raw != "" && json.Unmarshal([]byte(raw), handler) == nil {
		return handler, &corev1.Container{Name: c.Name}
	}
	return nil, nil
}

// stopForRestart stops a container that the next turn starts again. The pod's own end interrupts it.
func (t *turn) stopForRestart(order stopOrder) {
	grace := t.specGrace()
	if order.grace != nil {
		grace = time.Duration(*order.grace) * time.Second
	}
	t.stopOne(t.soft, t.pod, order.container, grace, true, order.message)
	if err := t.reread(); err != nil {
		t.again(runtimeRetry)
	}
	t.again(time.Millisecond)
}

func (t *turn) specGrace() time.Duration { return specGrace(t.pod) }

func specGrace(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return defaultGrace
}

// rest sees a finished pod off: nothing runs, its sandbox is down, its containers stay to be read.
func (t *turn) rest() time.Duration {
	if !t.stopAll(t.ctx, t.pod, t.state, t.specGrace()) {
		t.publish(false)
		return t.next
	}
	t.quiet()
	t.publish(false)
	return t.next
}

// endFailed stops a pod that has failed as a whole.
func (t *turn) endFailed() time.Duration {
	stopped := t.stopAll(t.ctx, t.pod, t.state, t.specGrace())
	if stopped {
		t.quiet()
	}
	t.publish(stopped)
	return t.next
}

// quiet takes the sandboxes down.
func (t *turn) quiet() {
	t.m.deps.Probes.End(t.uid)
	clear(t.waiting)
	for _, s := range t.state.Sandboxes {
		if !s.Ready {
			continue
		}
		if err := t.m.deps.Runtime.StopPodSandbox(t.ctx, s.ID); err != nil {
			t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeWarning, "FailedKillPod", "error killing pod: %v", err)
			t.again(t.failed("sandbox"))
		}
	}
	if err := t.reread(); err != nil {
		t.again(runtimeRetry)
	}
}

// terminate ends a pod that is deleted (pod is set) or that the api does not know (gone), and clears away all of it.
func (w *worker) terminate(ctx context.Context, pod *corev1.Pod, state *podstate.Pod, gone bool) (done bool, next time.Duration) {
	t := &turn{worker: w, ctx: ctx, soft: ctx, pod: pod, state: state}
	if !w.stopAll(ctx, pod, state, w.grace(pod, state, gone)) {
		if pod != nil && !gone {
			t.publish(false)
		}
		return false, 0
	}
	w.m.deps.Probes.End(w.uid)
	clear(w.waiting)
	if pod != nil && !gone {
		t.publish(true)
	}
	if err := t.clear(); err != nil {
		w.m.deps.Logger.Error("a pod could not be cleared away", "pod_uid", w.uid, "error", err)
		if pod != nil && !gone {
			w.m.deps.Events.Pod(ctx, pod, corev1.EventTypeWarning, "FailedKillPod", "error killing pod: %v", err)
		}
		return false, t.failed("clear")
	}
	if pod == nil || gone {
		w.forget()
		return true, 0
	}
	// The last status must have arrived before the pod goes, or its end is never told.
	select {
	case <-w.m.deps.Status.Settled(w.uid):
	case <-w.goneC:
	case <-ctx.Done():
		return false, 0
	}
	zero := int64(0)
	err := w.m.deps.Deleter.DeletePod(ctx, pod.Namespace, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		if ctx.Err() == nil {
			w.m.deps.Logger.Warn("a pod that has ended could not be deleted from the api", "pod", pod.Namespace+"/"+pod.Name, "error", err)
		}
		return false, t.failed("delete")
	}
	w.forget()
	return true, 0
}

// grace is how long the pod's containers have to end.
func (w *worker) grace(pod *corev1.Pod, state *podstate.Pod, gone bool) time.Duration {
	switch {
	case pod != nil && pod.DeletionGracePeriodSeconds != nil:
		return time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	case pod != nil && !gone:
		return specGrace(pod)
	case pod != nil:
		return minGrace // deleted by force
	}
	// Found in the runtime alone: what its containers say, as they were promised it.
	grace := minGrace
	for _, c := range state.Running() {
		if s, err := strconv.ParseInt(c.Annotations[cri.AnnotationGracePeriod], 10, 64); err == nil {
			grace = max(grace, time.Duration(s)*time.Second)
		}
	}
	return grace
}

// clear takes away sandboxes with their containers, volumes, cgroup and logs.
func (t *turn) clear() error {
	deps := &t.m.deps
	for _, s := range t.state.Sandboxes {
		if s.Ready {
			if err := deps.Runtime.StopPodSandbox(t.ctx, s.ID); err != nil {
				return err
			}
		}
		if err := deps.Runtime.RemovePodSandbox(t.ctx, s.ID); err != nil {
			return err
		}
	}
	errs := []error{deps.Volumes.Remove(t.uid)}
	if deps.Cgroups != nil {
		errs = append(errs, deps.Cgroups.Remove(t.uid))
	}
	namespace, name := t.state.Namespace, t.state.Name
	if t.pod != nil {
		namespace, name = t.pod.Namespace, t.pod.Name
	}
	if dir := deps.Host.LogDir(namespace, name, t.uid); dir != "" && name != "" {
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// forget drops what other parts remember of the pod.
func (w *worker) forget() {
	w.m.deps.Status.Forget(w.uid)
	w.m.deps.Images.Forget(w.uid)
	w.m.deps.Probes.End(w.uid)
	prefix := string(w.uid) + "_"
	w.m.backoff.Forget(func(key string) bool { return len(key) > len(prefix) && key[:len(prefix)] == prefix })
}
