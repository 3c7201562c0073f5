package noderesources

import (
	"context"
	"math"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// BalancedAllocation is NodeResourcesBalancedAllocation: the less the used fractions of CPU and memory differ, the better.
type BalancedAllocation struct{}

// Name of the plugin.
func (BalancedAllocation) Name() string { return "NodeResourcesBalancedAllocation" }

// Score is high when the pod leaves the node balanced. The standard deviation of two fractions is half of their difference.
func (BalancedAllocation) Score(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	if node.Allocatable.MilliCPU == 0 || node.Allocatable.Memory == 0 {
		return 0, nil
	}
	cpu := min(float64(node.Requested.MilliCPU+pod.Requests.MilliCPU)/float64(node.Allocatable.MilliCPU), 1)
	memory := min(float64(node.Requested.Memory+pod.Requests.Memory)/float64(node.Allocatable.Memory), 1)
	return int64((1 - math.Abs(cpu-memory)/2) * float64(framework.MaxNodeScore)), nil
}
