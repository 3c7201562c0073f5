package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/node/podstate"
)

func conditions(in Input, status *corev1.PodStatus, sandbox *podstate.Sandbox) []corev1.PodCondition {
	started := corev1.PodCondition{Type: corev1.PodReadyToStartContainers, Status: corev1.ConditionFalse}
	if sandbox != nil && (in.Pod.Spec.HostNetwork || len(sandbox.IPs) > 0) {
		started.Status = corev1.ConditionTrue
	}
	containers := containersReady(in, status)
	out := []corev1.PodCondition{started, initializedCondition(in, status), podReady(in, status, containers), containers}
	for i := range out {
		settle(&out[i], in)
	}
	return out
}

// settle keeps the time of the last change, if this is none.
func settle(c *corev1.PodCondition, in Input) {
	c.ObservedGeneration = in.Pod.Generation
	c.LastTransitionTime = metav1.NewTime(in.Now.Truncate(time.Second))
	for _, old := range in.Pod.Status.Conditions {
		if old.Type == c.Type && old.Status == c.Status && !old.LastTransitionTime.IsZero() {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
}

func initializedCondition(in Input, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if status.Phase == corev1.PodSucceeded {
		c.Reason = "PodCompleted"
		return c
	}
	var incomplete []string
	for i := range in.Pod.Spec.InitContainers {
		spec, s := &in.Pod.Spec.InitContainers[i], &status.InitContainerStatuses[i]
		done := s.State.Terminated != nil && s.State.Terminated.ExitCode == 0
		if IsSidecar(spec) {
			done = s.Started != nil && *s.Started || s.LastTerminationState.Terminated != nil || s.State.Terminated != nil
		}
		if !done {
			incomplete = append(incomplete, spec.Name)
		}
	}
	// Once initialized a pod stays it, even though a sidecar restarts.
	if len(incomplete) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ContainersNotInitialized", fmt.Sprintf("containers with incomplete status: %s", names(incomplete))
	}
	return c
}

func names(list []string) string { return "[" + strings.Join(list, " ") + "]" }

func containersReady(in Input, status *corev1.PodStatus) corev1.PodCondition {
	c := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	switch status.Phase {
	case corev1.PodSucceeded:
		c.Status, c.Reason = corev1.ConditionFalse, "PodCompleted"
		return c
	case corev1.PodFailed:
		c.Status, c.Reason = corev1.ConditionFalse, "PodFailed"
		return c
	}
	var unready []string
	for i := range in.Pod.Spec.InitContainers {
		if IsSidecar(&in.Pod.Spec.InitContainers[i]) && !status.InitContainerStatuses[i].Ready {
			unready = append(unready, in.Pod.Spec.InitContainers[i].Name)
		}
	}
	for _, s := range status.ContainerStatuses {
		if !s.Ready {
			unready = append(unready, s.Name)
		}
	}
	if len(unready) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ContainersNotReady", fmt.Sprintf("containers with unready status: %s", names(unready))
	}
	return c
}

func podReady(in Input, status *corev1.PodStatus, containers corev1.PodCondition) corev1.PodCondition {
	c := containers
	c.Type = corev1.PodReady
	if containers.Status != corev1.ConditionTrue {
		return c
	}
	var messages []string
	for _, gate := range in.Pod.Spec.ReadinessGates {
		i := slices.IndexFunc(in.Pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == gate.ConditionType })
		switch {
		case i < 0:
			messages = append(messages, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType))
		case in.Pod.Status.Conditions[i].Status != corev1.ConditionTrue:
			messages = append(messages, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, in.Pod.Status.Conditions[i].Status))
		}
	}
	if len(messages) > 0 {
		c.Status, c.Reason, c.Message = corev1.ConditionFalse, "ReadinessGatesNotReady", strings.Join(messages, ", ")
	}
	return c
}

// Merge puts the node's status over the one in the api: conditions and fields of others stay.
func Merge(current, own *corev1.PodStatus) corev1.PodStatus {
	out := *own.DeepCopy()
	out.NominatedNodeName = current.NominatedNodeName
	out.ResourceClaimStatuses = current.ResourceClaimStatuses
	out.EphemeralContainerStatuses = current.EphemeralContainerStatuses
	out.Resize = current.Resize
	for _, c := range current.Conditions {
		if !slices.ContainsFunc(out.Conditions, func(o corev1.PodCondition) bool { return o.Type == c.Type }) {
			out.Conditions = append(out.Conditions, c)
		}
	}
	return out
}
