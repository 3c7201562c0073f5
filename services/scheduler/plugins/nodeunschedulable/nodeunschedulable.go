// Package nodeunschedulable keeps pods off cordoned nodes, unless they tolerate the taint that stands for it.
package nodeunschedulable

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is NodeUnschedulable.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "NodeUnschedulable" }

var cordoned = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// Filter refuses nodes with spec.unschedulable.
func (Plugin) Filter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	if !node.Node.Spec.Unschedulable || corev1helpers.TolerationsTolerateTaint(klog.Logger{}, pod.Pod.Spec.Tolerations, &cordoned, false) {
		return nil
	}
	return framework.NewStatus(framework.UnschedulableAndUnresolvable, "node(s) were unschedulable")
}

// EventsToRegister are new and uncordoned nodes.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.NodeAdd, framework.NodeUpdateTaint}
}
