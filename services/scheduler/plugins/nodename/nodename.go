// Package nodename lets a pod that names its node in spec.nodeName run only there.
package nodename

import (
	"context"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is NodeName.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "NodeName" }

// Filter compares the names.
func (Plugin) Filter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	if name := pod.Pod.Spec.NodeName; name != "" && name != node.Node.Name {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, "node(s) didn't match the requested node name")
	}
	return nil
}

// EventsToRegister are new nodes.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.NodeAdd}
}
