package owner

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Terminal tells whether the pod's containers have ended for good.
func Terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// Active tells whether the pod counts as a replica: it has not ended and is not being deleted.
func Active(pod *corev1.Pod) bool { return !Terminal(pod) && pod.DeletionTimestamp == nil }

// Terminating tells whether the pod is being deleted and has not ended yet.
func Terminating(pod *corev1.Pod) bool { return !Terminal(pod) && pod.DeletionTimestamp != nil }

// ReadyCondition is the pod's Ready condition; nil when it has none.
func ReadyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c
		}
	}
	return nil
}

// Ready tells whether the pod is ready to serve.
func Ready(pod *corev1.Pod) bool {
	c := ReadyCondition(pod)
	return c != nil && c.Status == corev1.ConditionTrue
}

// AvailableIn is how long the pod still has to stay ready until it counts as available (spec.minReadySeconds); ready is false, and the time
// zero, when it is not ready.
func AvailableIn(pod *corev1.Pod, minReadySeconds int32, now time.Time) (wait time.Duration, ready bool) {
	c := ReadyCondition(pod)
	if c == nil || c.Status != corev1.ConditionTrue {
		return 0, false
	}
	if minReadySeconds == 0 {
		return 0, true
	}
	if c.LastTransitionTime.IsZero() {
		// A pod that does not say since when counts from now.
		return time.Duration(minReadySeconds) * time.Second, true
	}
	return max(0, c.LastTransitionTime.Add(time.Duration(minReadySeconds)*time.Second).Sub(now)), true
}
