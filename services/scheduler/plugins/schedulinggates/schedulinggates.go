// Package schedulinggates keeps pods out of the queue while they have scheduling gates (KEP-3521).
package schedulinggates

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/scheduler/framework"
)

// Plugin is SchedulingGates.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "SchedulingGates" }

// PreEnqueue lets pods without gates pass.
func (Plugin) PreEnqueue(_ context.Context, pod *corev1.Pod) *framework.Status {
	if len(pod.Spec.SchedulingGates) == 0 {
		return nil
	}
	gates := make([]string, 0, len(pod.Spec.SchedulingGates))
	for _, gate := range pod.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	return framework.NewStatus(framework.UnschedulableAndUnresolvable, fmt.Sprintf("waiting for scheduling gates: %v", gates))
}

// EventsToRegister is none: a change of the pod itself wakes it.
func (Plugin) EventsToRegister() []framework.ClusterEvent { return nil }
