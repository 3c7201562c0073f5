package tables

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodColumns are the columns of pods.
var PodColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Ready", "string", "How many of the pod's containers are ready, of how many."),
	column("Status", "string", "State of the pod as its containers make it."),
	column("Restarts", "string", "How often the pod's containers were restarted, and when last."),
	ageColumn,
	wide("IP", "string", "First address of the pod."),
	wide("Node", "string", "Node that the pod is bound to."),
	wide("Nominated Node", "string", "Node on which room is being made for the pod."),
	wide("Readiness Gates", "string", "How many of the pod's readiness gates are passed, of how many."),
}

// PodTemplateColumns are the columns of pod templates.
var PodTemplateColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Containers", "string", "Names of the containers in the pod template."),
	column("Images", "string", "Images of the containers in the pod template."),
	column("Pod Labels", "string", "Labels that the template gives to pods."),
}

// Pod is the row of a pod.
func (r Rows) Pod(pod *corev1.Pod) []any {
	s := summarize(pod)
	restarts := strconv.Itoa(s.restarts)
	if s.restarts != 0 && !s.lastRestart.IsZero() {
		restarts = fmt.Sprintf("%d (%s ago)", s.restarts, r.since(s.lastRestart))
	}
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return []any{
		pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.status, restarts, r.age(pod),
		or(ip, none), or(pod.Spec.NodeName, none), or(pod.Status.NominatedNodeName, none), readinessGates(pod),
	}
}

// PodTemplate is the row of a pod template.
func (r Rows) PodTemplate(t *corev1.PodTemplate) []any {
	names, images := containerCells(t.Template.Spec.Containers)
	return []any{t.Name, names, images, labelsCell(t.Template.Labels)}
}

// podSummary is a pod in a few words.
type podSummary struct {
	status       string
	ready, total int
	restarts     int
	lastRestart  time.Time
}

func summarize(pod *corev1.Pod) podSummary {
	s := podSummary{status: or(pod.Status.Reason, string(pod.Status.Phase)), total: len(pod.Spec.Containers)}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.status = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := make(map[string]bool)
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; pointerOr(c.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
			s.total++
		}
	}
	initializing := s.addInit(pod, sidecars)
	if !initializing || hasCondition(pod, corev1.PodInitialized) {
		s.addMain(pod, sidecars)
	}
	if pod.DeletionTimestamp != nil {
		ended := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		switch {
		case pod.Status.Reason == "NodeLost":
			s.status = "Unknown"
		case !ended:
			s.status = "Terminating"
		}
	}
	return s
}

// addInit adds what the init containers show, up to the first that is not done; true when there is one.
func (s *podSummary) addInit(pod *corev1.Pod, sidecars map[string]bool) bool {
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.addRestarts(c)
		terminated, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case terminated != nil && terminated.ExitCode == 0:
			continue
		case sidecars[c.Name] && pointerOr(c.Started, false):
			if c.Ready {
				s.ready++
			}
			continue
		case terminated != nil:
			s.status = "Init:" + terminatedReason(terminated)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.status = "Init:" + waiting.Reason
		default:
			s.status = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// addMain adds what the containers show. Restarts of init containers are history by now, except those of sidecars.
func (s *podSummary) addMain(pod *corev1.Pod, sidecars map[string]bool) {
	s.restarts, s.lastRestart = 0, time.Time{}
	for i := range pod.Status.InitContainerStatuses {
		if c := &pod.Status.InitContainerStatuses[i]; sidecars[c.Name] {
			s.addRestarts(c)
		}
	}
	running := false
	// The first container in trouble gives the pod its status, so it comes last.
	for i := range slices.Backward(pod.Status.ContainerStatuses) {
		c := &pod.Status.ContainerStatuses[i]
		s.addRestarts(c)
		switch {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.status = c.State.Waiting.Reason
		case c.State.Terminated != nil:
			s.status = terminatedReason(c.State.Terminated)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.status == "Completed" && running {
		s.status = "NotReady"
		if hasCondition(pod, corev1.PodReady) {
			s.status = "Running"
		}
	}
}

func (s *podSummary) addRestarts(c *corev1.ContainerStatus) {
	s.restarts += int(c.RestartCount)
	if t := c.LastTerminationState.Terminated; t != nil && t.FinishedAt.After(s.lastRestart) {
		s.lastRestart = t.FinishedAt.Time
	}
}

func terminatedReason(t *corev1.ContainerStateTerminated) string {
	switch {
	case t.Reason != "":
		return t.Reason
	case t.Signal != 0:
		return fmt.Sprintf("Signal:%d", t.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", t.ExitCode)
	}
}

func hasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return none
	}
	passed := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if hasCondition(pod, gate.ConditionType) {
			passed++
		}
	}
	return fmt.Sprintf("%d/%d", passed, len(pod.Spec.ReadinessGates))
}
