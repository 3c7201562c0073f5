package podworker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/prober"
	"github.com/orrery-io/orrery/services/node/status"
	"github.com/orrery-io/orrery/services/node/volumes"
)

const (
	// configRetry is the pause after a container's configuration could not be put together: what it refers to may appear at any time.
	configRetry = 2 * time.Second
	// kept is how many ended instances of a container stay beside the newest, for its last state and previous log.
	kept = 1
)

// converge brings the pod a step nearer to what it should be and tells its status. It returns when to look again.
func (t *turn) converge() time.Duration {
	if t.overdue() {
		return t.endFailed()
	}
	_, simulated := t.m.deps.Runtime.(cri.ProbeSimulator)
	if t.pod.Status.StartTime == nil && t.state.Empty() && !simulated {
		t.publish(false) // that the pod is being seen to; simulated containers start sooner than this arrives
	}
	t.m.deps.Probes.Sync(t.pod, t.state, t.podIP())
	p := makePlan(t.pod, t.state, t.m.deps.Probes, t.m.deps.Probes)
	if p.finished {
		return t.rest()
	}
	for _, order := range p.stop {
		t.stopForRestart(order)
	}
	ok := t.prepare()
	if ok && p.sandbox {
		ok = t.runSandbox()
		if ok {
			p = makePlan(t.pod, t.state, t.m.deps.Probes, t.m.deps.Probes)
		}
	}
	if sandbox := t.state.ReadySandbox(); ok && sandbox != nil {
		for _, c := range p.start {
			if t.soft.Err() != nil {
				break
			}
			t.start(sandbox, c)
		}
		t.clearOld(sandbox)
	}
	t.publish(false)
	return t.next
}

// overdue tells that activeDeadlineSeconds have passed, and asks for a turn when they will.
func (t *turn) overdue() bool {
	limit, since := t.pod.Spec.ActiveDeadlineSeconds, t.pod.Status.StartTime
	if t.failure != nil {
		return true
	}
	if limit == nil || since.IsZero() || t.pod.Status.Phase == corev1.PodFailed || t.pod.Status.Phase == corev1.PodSucceeded {
		return false
	}
	left := time.Duration(*limit)*time.Second - t.m.deps.Clock.Since(since.Time)
	if left > 0 {
		t.again(left)
		return false
	}
	t.failure = &status.Waiting{Reason: "DeadlineExceeded", Message: "Pod was active on the node longer than the specified deadline"}
	t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeNormal, t.failure.Reason, "%s", t.failure.Message)
	return true
}

// podIP is where the pod is reached.
func (t *turn) podIP() string {
	if t.pod.Spec.HostNetwork && len(t.m.deps.Host.NodeIPs) > 0 {
		return t.m.deps.Host.NodeIPs[0]
	}
	if s := t.state.ReadySandbox(); s != nil && len(s.IPs) > 0 {
		return s.IPs[0]
	}
	return ""
}

func (t *turn) podIPs() []string {
	if t.pod.Spec.HostNetwork {
		return t.m.deps.Host.NodeIPs
	}
	if s := t.state.ReadySandbox(); s != nil {
		return s.IPs
	}
	return nil
}

// prepare makes the pod's volumes and cgroup, and keeps volumes that follow the api up to date.
func (t *turn) prepare() bool {
	const what = "volumes"
	now := t.m.deps.Clock.Now()
	if t.volumes != nil {
		if !volumes.Refreshing(t.pod) {
			return true
		}
		if left := refreshPeriod - now.Sub(t.refreshed); left > 0 {
			t.again(left)
			return true
		}
	}
	if left := t.held(what); left > 0 {
		t.again(left)
		return t.volumes != nil
	}
	if t.m.deps.Cgroups != nil {
		if err := t.m.deps.Cgroups.Ensure(t.pod); err != nil {
			t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeWarning, "FailedToCreatePodContainer", "unable to ensure pod container exists: %v", err)
			t.again(t.failed(what))
			return false
		}
	}
	paths, err := t.m.deps.Volumes.Ensure(t.ctx, t.pod, t.podIPs())
	if err != nil {
		t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeWarning, "FailedMount", "%v", err)
		t.again(t.failed(what))
		return t.volumes != nil // a running pod goes on with what it has
	}
	t.worked(what)
	t.volumes, t.refreshed = paths, now
	if t.volumes == nil {
		t.volumes = map[string]string{}
	}
	if volumes.Refreshing(t.pod) {
		t.again(refreshPeriod)
	}
	return true
}

// runSandbox replaces what sandboxes there are by a new one.
func (t *turn) runSandbox() bool {
	const what = "sandbox"
	if left := t.held(what); left > 0 {
		t.again(left)
		return false
	}
	fail := func(reason, format string, err error) bool {
		t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeWarning, reason, format, err)
		t.again(t.failed(what))
		return false
	}
	var attempt uint32
	for _, old := range t.state.Sandboxes {
		attempt = max(attempt, old.Attempt+1)
		if attempt == old.Attempt+1 {
			t.m.deps.Events.Pod(t.ctx, t.pod, corev1.EventTypeNormal, "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")
		}
		if err := t.m.deps.Runtime.StopPodSandbox(t.ctx, old.ID); err != nil {
			return fail("FailedKillPod", "error killing pod: %v", err)
		}
	}
	config, err := t.sandboxConfig(attempt)
	if err != nil {
		return fail("FailedCreatePodSandBox", "Failed to create pod sandbox: %v", err)
	}
	handler := ""
	if class := t.pod.Spec.RuntimeClassName; class != nil && *class != "" {
		handler = *class
	}
	if _, err := t.m.deps.Runtime.RunPodSandbox(t.ctx, config, handler); err != nil {
		return fail("FailedCreatePodSandBox", "Failed to create pod sandbox: %v", err)
	}
	if err := t.reread(); err != nil {
		return fail("FailedCreatePodSandBox", "Failed to read the new pod sandbox: %v", err)
	}
	t.worked(what)
	return t.state.ReadySandbox() != nil
}

func (t *turn) sandboxConfig(attempt uint32) (*runtimeapi.PodSandboxConfig, error) {
	config, err := t.m.deps.Host.Sandbox(t.pod, attempt)
	if err != nil {
		return nil, err
	}
	if config.LogDirectory != "" {
		if err := os.MkdirAll(config.LogDirectory, 0o755); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// block notes why a container does not start and when to try again.
func (t *turn) block(c *corev1.Container, reason, message string, retry time.Duration) {
	t.waiting[c.Name] = status.Waiting{Reason: reason, Message: message}
	t.again(retry)
}

// start runs a container, unless its back-off or its image says to wait.
func (t *turn) start(sandbox *podstate.Sandbox, c *corev1.Container) {
	deps := &t.m.deps
	if left := t.held(c.Name); left > 0 {
		t.again(left)
		return
	}
	before := t.state.Latest(c.Name)
	crashed := before != nil && before.State == podstate.Exited && before.SandboxID == sandbox.ID
	key := string(t.uid) + "_" + c.Name
	if crashed {
		if left := t.m.backoff.Remaining(key, before.FinishedAt); left > 0 {
			full := t.pod.Name + "_" + t.pod.Namespace + "(" + string(t.uid) + ")"
			if t.told[c.Name] != before.ID {
				t.told[c.Name] = before.ID
				deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container %s in pod %s", c.Name, full)
			}
			t.block(c, "CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s", t.m.backoff.Delay(key), c.Name, full), left)
			return
		}
	}
	config, err := t.sandboxConfig(sandbox.Attempt)
	if err != nil {
		t.block(c, "CreateContainerConfigError", err.Error(), t.failed(c.Name))
		return
	}
	image := deps.Images.Ensure(t.ctx, t.pod, c, config)
	switch {
	case image.Pending:
		t.pending = true
		return // the waiting reason, if any, is that of the last try
	case image.Reason != "":
		t.block(c, image.Reason, image.Message, image.Retry)
		return
	}
	attempt := t.attempt(c, before)
	if before != nil && before.State == podstate.Created {
		// Made but never started, by an agent that died in between.
		if err := deps.Runtime.RemoveContainer(t.ctx, before.ID); err != nil {
			t.block(c, "CreateContainerError", err.Error(), t.failed(c.Name))
			return
		}
	}
	input := podconfig.ContainerInput{Pod: t.pod, Container: c, Attempt: attempt, ImageRef: image.Ref, Image: image.Image, PodIPs: t.podIPs(), Volumes: t.volumes}
	spec, err := deps.Host.Container(t.ctx, deps.Sources, input)
	if err != nil {
		deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %v", err)
		t.block(c, "CreateContainerConfigError", err.Error(), configRetry)
		t.retryAt[c.Name] = deps.Clock.Now().Add(configRetry)
		return
	}
	id, err := deps.Runtime.CreateContainer(t.ctx, sandbox.ID, spec, config)
	if err != nil {
		deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %v", cri.Message(err))
		t.block(c, "CreateContainerError", cri.Message(err), t.failed(c.Name))
		return
	}
	deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeNormal, "Created", "Container created")
	if crashed {
		t.m.backoff.Next(key, before.FinishedAt)
	}
	if err := deps.Runtime.StartContainer(t.ctx, id); err != nil {
		deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeWarning, "Failed", "Error: %v", cri.Message(err))
		if !crashed {
			t.m.backoff.Next(key, deps.Clock.Now())
		}
		t.block(c, "RunContainerError", cri.Message(err), t.failed(c.Name))
		_ = t.reread() // the next turn reads anew anyway
		return
	}
	deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeNormal, "Started", "Container started")
	t.started(c, id)
}

// started does what follows a start: the postStart hook, and telling at once.
func (t *turn) started(c *corev1.Container, id string) {
	delete(t.waiting, c.Name)
	delete(t.told, c.Name)
	t.worked(c.Name)
	if c.Lifecycle != nil && c.Lifecycle.PostStart != nil {
		err := t.m.deps.Checker.Hook(t.soft, prober.Target{ContainerID: id, Container: c, PodIP: t.podIP()}, c.Lifecycle.PostStart)
		if err != nil && t.soft.Err() == nil {
			t.m.deps.Logger.Warn("postStart hook failed", "pod", t.pod.Namespace+"/"+t.pod.Name, "container", c.Name, "error", err)
			t.m.deps.Events.Container(t.ctx, t.pod, c.Name, corev1.EventTypeWarning, "FailedPostStartHook", "PostStartHook failed")
			t.stopForRestart(stopOrder{container: &podstate.Container{ID: id, Name: c.Name}, spec: c, message: "FailedPostStartHook"})
			t.waiting[c.Name] = status.Waiting{Reason: "PostStartHookError", Message: err.Error()}
			return
		}
	}
	if err := t.reread(); err != nil {
		t.again(runtimeRetry)
		return
	}
	t.publish(false)
}

// attempt is the restart count of a new instance: one more than the last that ran, by the runtime or, when that was cleared away, by the status.
func (t *turn) attempt(c *corev1.Container, before *podstate.Container) int32 {
	if before != nil {
		if before.State == podstate.Created {
			return before.Attempt
		}
		return before.Attempt + 1
	}
	for _, list := range [][]corev1.ContainerStatus{t.pod.Status.ContainerStatuses, t.pod.Status.InitContainerStatuses} {
		for _, s := range list {
			if s.Name == c.Name && s.ContainerID != "" {
				return s.RestartCount + 1
			}
		}
	}
	return 0
}

// clearOld removes ended instances beyond those kept, and sandboxes that hold none any more.
func (t *turn) clearOld(sandbox *podstate.Sandbox) {
	seen := map[string]int{}
	holds := map[string]bool{}
	for i := range t.state.Containers {
		c := &t.state.Containers[i]
		seen[c.Name]++
		if seen[c.Name] <= 1+kept || c.State == podstate.Running {
			holds[c.SandboxID] = true
			continue
		}
		err := t.m.deps.Runtime.RemoveContainer(t.ctx, c.ID)
		if err == nil && c.LogPath != "" {
			err = errors.Join(removeFile(c.LogPath), removeFile(t.messageFile(c)))
		}
		if err != nil {
			t.m.deps.Logger.Warn("an ended container could not be cleared away", "container_id", c.ID, "error", err)
		}
	}
	for _, old := range t.state.Sandboxes {
		if old.ID != sandbox.ID && !holds[old.ID] {
			if err := t.m.deps.Runtime.RemovePodSandbox(t.ctx, old.ID); err != nil {
				t.m.deps.Logger.Warn("an old sandbox could not be cleared away", "sandbox_id", old.ID, "error", err)
			}
		}
	}
}

func removeFile(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (t *turn) messageFile(c *podstate.Container) string { return messageFile(t.m.deps.Host, t.uid, c) }

func messageFile(host podconfig.Host, uid types.UID, c *podstate.Container) string {
	pod := &corev1.Pod{}
	pod.UID = uid
	return filepath.Clean(host.MessageFile(podconfig.ContainerInput{Pod: pod, Container: &corev1.Container{Name: c.Name}, Attempt: c.Attempt}))
}
