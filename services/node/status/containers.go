package status

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/node/podstate"
)

// Reasons that kubectl shows for containers.
const (
	ContainerCreating      = "ContainerCreating"
	PodInitializing        = "PodInitializing"
	ContainerStatusUnknown = "ContainerStatusUnknown"
)

// killedExitCode is that of a process ended by SIGKILL, and stands in where the true one was lost.
const killedExitCode = 137

func containerStatus(in Input, c *corev1.Container, old *corev1.ContainerStatus, init bool) corev1.ContainerStatus {
	no := false
	out := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: &no}
	latest := in.State.Latest(c.Name)
	waiting, blocked := in.Waiting[c.Name]
	if !blocked {
		waiting = Waiting{Reason: ContainerCreating}
		if init || !initialized(in) {
			waiting.Reason = PodInitializing
		}
		if in.State.ReadySandbox() == nil && len(in.Pod.Spec.InitContainers) == 0 {
			waiting.Reason = ContainerCreating
		}
	}
	wait := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waiting.Reason, Message: waiting.Message}}
	if latest == nil {
		return withoutContainer(in, out, old, wait)
	}
	out.Image, out.ImageID, out.RestartCount = latest.Image, latest.ImageRef, latest.Attempt
	if out.Image == "" {
		out.Image = c.Image
	}
	out.ContainerID = "containerd://" + latest.ID
	if old != nil {
		out.LastTerminationState = old.LastTerminationState
	}
	if previous := in.State.Previous(c.Name); previous != nil && previous.State == podstate.Exited {
		out.LastTerminationState = corev1.ContainerState{Terminated: terminated(in, previous)}
	}
	switch latest.State {
	case podstate.Running:
		out.State.Running = &corev1.ContainerStateRunning{StartedAt: seconds(latest.StartedAt)}
		started := in.Probes == nil || in.Probes.Started(latest.ID)
		out.Started = &started
		out.Ready = started && (in.Probes == nil || in.Probes.Ready(latest.ID))
		if init && !IsSidecar(c) {
			out.Ready = false
		}
		out.AllocatedResources = c.Resources.Requests.DeepCopy()
		out.Resources = c.Resources.DeepCopy()
	case podstate.Exited:
		end := terminated(in, latest)
		if blocked && !in.Terminal {
			// It will run again and is kept from it for now: CrashLoopBackOff and its kin.
			out.State, out.LastTerminationState = wait, corev1.ContainerState{Terminated: end}
		} else {
			out.State.Terminated = end
			out.Ready = init && end.ExitCode == 0 && !IsSidecar(c)
		}
	default:
		out.State = wait
	}
	for _, m := range c.VolumeMounts {
		mount := corev1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			disabled := corev1.RecursiveReadOnlyDisabled
			mount.RecursiveReadOnly = &disabled
		}
		out.VolumeMounts = append(out.VolumeMounts, mount)
	}
	return out
}

// withoutContainer is the status of a container of which the runtime has nothing: not made yet, or lost.
func withoutContainer(in Input, out corev1.ContainerStatus, old *corev1.ContainerStatus, wait corev1.ContainerState) corev1.ContainerStatus {
	lost := func(message string) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{Reason: ContainerStatusUnknown, Message: message, ExitCode: killedExitCode}
	}
	switch {
	case old != nil && old.State.Terminated != nil:
		// It ended, that was told, and it has been cleared away since.
		return *old.DeepCopy()
	case in.Terminal:
		if old != nil {
			out = *old.DeepCopy()
		}
		no := false
		out.Ready, out.Started = false, &no
		out.State = corev1.ContainerState{Terminated: lost("The container could not be located when the pod was terminated")}
	case old != nil && old.State.Running != nil:
		out.RestartCount = old.RestartCount
		out.State = wait
		out.LastTerminationState.Terminated = lost("The container could not be located when the pod was deleted.  The container used to be Running")
	default:
		if old != nil {
			out.RestartCount, out.LastTerminationState = old.RestartCount, old.LastTerminationState
		}
		out.State = wait
	}
	return out
}

func terminated(in Input, c *podstate.Container) *corev1.ContainerStateTerminated {
	out := &corev1.ContainerStateTerminated{
		ExitCode: c.ExitCode, Reason: c.Reason, Message: c.Message, StartedAt: seconds(c.StartedAt), FinishedAt: seconds(c.FinishedAt), ContainerID: "containerd://" + c.ID,
	}
	if in.Message != nil {
		if message := in.Message(c); message != "" {
			out.Message = message
		}
	}
	if out.Reason == "" {
		out.Reason = "Completed"
		if out.ExitCode != 0 {
			out.Reason = "Error"
		}
	}
	return out
}

// seconds is the time as the api keeps it.
func seconds(t time.Time) metav1.Time {
	if t.IsZero() {
		return metav1.Time{}
	}
	return metav1.NewTime(t.Truncate(time.Second))
}

// initialized tells that all init containers have done their part: ended well or, for sidecars, started.
func initialized(in Input) bool {
	for i := range in.Pod.Spec.InitContainers {
		c := &in.Pod.Spec.InitContainers[i]
		if !InitDone(c, in.State.Latest(c.Name), in.Probes) && !endedWell(find(in.Pod.Status.InitContainerStatuses, c.Name), in.State.Latest(c.Name)) {
			return false
		}
	}
	return true
}

// endedWell tells that a container that is cleared away was told to have ended well.
func endedWell(old *corev1.ContainerStatus, latest *podstate.Container) bool {
	return latest == nil && old != nil && old.State.Terminated != nil && old.State.Terminated.ExitCode == 0
}

// InitDone tells that an init container no longer holds up those after it.
func InitDone(c *corev1.Container, latest *podstate.Container, probes Probes) bool {
	if latest == nil {
		return false
	}
	if IsSidecar(c) {
		return latest.State == podstate.Running && (probes == nil || probes.Started(latest.ID))
	}
	return latest.State == podstate.Exited && latest.ExitCode == 0
}
