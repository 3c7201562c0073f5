package status

import (
	corev1 "k8s.io/api/core/v1"
)

// phase sums up the containers' statuses.
func phase(pod *corev1.Pod, status *corev1.PodStatus, terminal bool) corev1.PodPhase {
	pendingInit, failedInit, sidecars := 0, 0, 0
	for i := range pod.Spec.InitContainers {
		s := &status.InitContainerStatuses[i]
		if IsSidecar(&pod.Spec.InitContainers[i]) {
			if s.State.Running == nil && s.State.Terminated == nil && s.LastTerminationState.Terminated == nil {
				pendingInit++
			}
			if s.State.Running != nil {
				sidecars++
			}
			continue
		}
		switch {
		case s.State.Terminated != nil:
			if s.State.Terminated.ExitCode != 0 {
				failedInit++
			}
		case s.State.Waiting != nil && s.LastTerminationState.Terminated != nil:
			if s.LastTerminationState.Terminated.ExitCode != 0 {
				failedInit++
			}
		default:
			pendingInit++
		}
	}
	waiting, running, stopped, succeeded := 0, 0, 0, 0
	for _, s := range status.ContainerStatuses {
		switch {
		case s.State.Running != nil:
			running++
		case s.State.Terminated != nil:
			stopped++
			if s.State.Terminated.ExitCode == 0 {
				succeeded++
			}
		case s.LastTerminationState.Terminated != nil:
			stopped++
		default:
			waiting++
		}
	}
	never := pod.Spec.RestartPolicy == corev1.RestartPolicyNever
	if terminal {
		if waiting == 0 && running == 0 && stopped == succeeded && failedInit == 0 && pendingInit == 0 {
			return corev1.PodSucceeded
		}
		return corev1.PodFailed
	}
	switch {
	case failedInit > 0 && never:
		return corev1.PodFailed
	case pendingInit > 0 || failedInit > 0 || waiting > 0:
		return corev1.PodPending
	case running > 0 || sidecars > 0 && stopped > 0:
		return corev1.PodRunning
	case stopped == 0:
		return corev1.PodPending
	case pod.Spec.RestartPolicy == corev1.RestartPolicyAlways:
		return corev1.PodRunning
	case stopped == succeeded:
		return corev1.PodSucceeded
	case never:
		return corev1.PodFailed
	}
	return corev1.PodRunning // OnFailure: those that failed run again
}
