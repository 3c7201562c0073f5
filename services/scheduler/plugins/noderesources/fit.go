package noderesources

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Fit is NodeResourcesFit with the strategy LeastAllocated on CPU and memory.
type Fit struct{}

// Name of the plugin.
func (Fit) Name() string { return "NodeResourcesFit" }

// Filter compares the requests with what the node has left.
func (Fit) Filter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	var reasons []string
	resolvable := true
	check := func(name corev1.ResourceName, request, used, allocatable int64) {
		if request == 0 || request <= allocatable-used {
			return
		}
		if request > allocatable {
			resolvable = false
		}
		if name == corev1.ResourcePods {
			reasons = append(reasons, "Too many pods")
		} else {
			reasons = append(reasons, fmt.Sprintf("Insufficient %s", name))
		}
	}
	want, used, has := &pod.Requests, &node.Requested, &node.Allocatable
	check(corev1.ResourcePods, want.Pods, used.Pods, has.Pods)
	check(corev1.ResourceCPU, want.MilliCPU, used.MilliCPU, has.MilliCPU)
	check(corev1.ResourceMemory, want.Memory, used.Memory, has.Memory)
	check(corev1.ResourceEphemeralStorage, want.EphemeralStorage, used.EphemeralStorage, has.EphemeralStorage)
	first := len(reasons)
	for name, request := range want.Scalar {
		check(name, request, used.Scalar[name], has.Scalar[name])
	}
	if len(reasons) == 0 {
		return nil
	}
	slices.Sort(reasons[first:])
	if !resolvable {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, reasons...)
	}
	return framework.NewStatus(framework.Unschedulable, reasons...)
}

// Score prefers the node with the most CPU and memory left.
func (Fit) Score(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	var sum, n int64
	for _, name := range scored {
		allocatable := node.Allocatable.Get(name)
		if allocatable == 0 {
			continue
		}
		if left := allocatable - node.NonZero.Get(name) - pod.NonZero.Get(name); left > 0 {
			sum += left * framework.MaxNodeScore / allocatable
		}
		n++
	}
	if n == 0 {
		return 0, nil
	}
	return sum / n, nil
}

var scored = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// EventsToRegister are freed pods and nodes that grew.
func (Fit) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.AssignedPodDelete, framework.AssignedPodUpdate, framework.NodeAdd, framework.NodeUpdateAllocatable}
}
