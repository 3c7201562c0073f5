// Package tainttoleration keeps pods off nodes with taints that they do not tolerate, and prefers nodes with fewer taints
// of effect PreferNoSchedule that they do not tolerate.
package tainttoleration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is TaintToleration.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "TaintToleration" }

func hard(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// Filter finds the first taint of effect NoSchedule or NoExecute that the pod does not tolerate.
func (Plugin) Filter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	if len(node.Node.Spec.Taints) == 0 {
		return nil
	}
	taint, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Node.Spec.Taints, pod.Pod.Spec.Tolerations, hard, false)
	if !found {
		return nil
	}
	return framework.NewStatus(framework.UnschedulableAndUnresolvable, fmt.Sprintf("node(s) had untolerated taint {%s: %s}", taint.Key, taint.Value))
}

// Score counts the PreferNoSchedule taints that the pod does not tolerate.
func (Plugin) Score(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	var n int64
	for i := range node.Node.Spec.Taints {
		taint := &node.Node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && !corev1helpers.TolerationsTolerateTaint(klog.Logger{}, pod.Pod.Spec.Tolerations, taint, false) {
			n++
		}
	}
	return n, nil
}

// NormalizeScore turns few taints into a high score.
func (Plugin) NormalizeScore(_ context.Context, _ *framework.CycleState, _ *snapshot.PodInfo, scores []int64) {
	framework.Normalize(scores, true)
}

// EventsToRegister are changes of nodes' taints.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.NodeAdd, framework.NodeUpdateTaint}
}
