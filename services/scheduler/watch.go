package scheduler

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/scheduler/framework"
)

// watch makes the informers and lets them feed cache and queue.
func (s *Scheduler) watch() {
	s.pods = informer.Of(s.client.Pods("").Resource, informer.Options[*corev1.Pod]{Logger: s.logger, Clock: s.clock,
		// Neither a decision nor an event needs these, and they are the larger part of a pod.
		Transform: func(pod *corev1.Pod) { pod.ManagedFields, pod.Status.ContainerStatuses = nil, nil }})
	s.nodes = informer.Of(s.client.Nodes(), informer.Options[*corev1.Node]{Logger: s.logger, Clock: s.clock,
		Transform: func(node *corev1.Node) { node.ManagedFields = nil }})
	s.pods.AddHandler(informer.Handler[*corev1.Pod]{
		Add:    func(pod *corev1.Pod, cause informer.Cause) { s.podChanged(nil, pod, cause) },
		Update: s.podChanged,
		Delete: func(pod *corev1.Pod, _ informer.Cause) { s.podGone(pod) },
	})
	s.nodes.AddHandler(informer.Handler[*corev1.Node]{
		Add: func(node *corev1.Node, _ informer.Cause) {
			s.cache.SetNode(node)
			s.queue.Move(context.Background(), framework.NodeAdd)
		},
		Update: func(old, node *corev1.Node, _ informer.Cause) {
			s.cache.SetNode(node)
			for _, event := range nodeEvents(old, node) {
				s.queue.Move(context.Background(), event)
			}
		},
		Delete: func(node *corev1.Node, _ informer.Cause) { s.cache.RemoveNode(node.Name) },
	})
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (s *Scheduler) podChanged(old, pod *corev1.Pod, cause informer.Cause) {
	ctx := context.Background()
	switch {
	case finished(pod):
		if old == nil || !finished(old) {
			s.podGone(pod)
		}
	case pod.Spec.NodeName != "":
		s.queue.Delete(pod.UID)
		s.cache.SetPod(pod)
		switch {
		case old == nil || old.Spec.NodeName == "":
			s.queue.Move(ctx, framework.AssignedPodAdd)
		case old.Generation != pod.Generation || !maps.Equal(old.Labels, pod.Labels) || (old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil):
			s.queue.Move(ctx, framework.AssignedPodUpdate)
		}
	case pod.DeletionTimestamp != nil:
		s.queue.Delete(pod.UID)
	case pod.Spec.SchedulerName == Name || pod.Spec.SchedulerName == "":
		s.queue.Set(ctx, pod, cause.TraceParent)
	}
}

func (s *Scheduler) podGone(pod *corev1.Pod) {
	s.queue.Delete(pod.UID)
	if s.cache.Has(pod.UID) {
		s.cache.RemovePod(pod.UID)
		s.queue.Move(context.Background(), framework.AssignedPodDelete)
	}
}

// nodeEvents says what changed about a node that a waiting pod may care for: a heartbeat is nothing.
func nodeEvents(old, node *corev1.Node) []framework.ClusterEvent {
	var events []framework.ClusterEvent
	if !equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable) {
		events = append(events, framework.NodeUpdateAllocatable)
	}
	if !maps.Equal(old.Labels, node.Labels) {
		events = append(events, framework.NodeUpdateLabel)
	}
	if old.Spec.Unschedulable != node.Spec.Unschedulable || !equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints) {
		events = append(events, framework.NodeUpdateTaint)
	}
	statuses := func(n *corev1.Node) []string {
		var out []string
		for _, c := range n.Status.Conditions {
			out = append(out, string(c.Type)+string(c.Status))
		}
		return out
	}
	if !slices.Equal(statuses(old), statuses(node)) {
		events = append(events, framework.NodeUpdateCondition)
	}
	return events
}
