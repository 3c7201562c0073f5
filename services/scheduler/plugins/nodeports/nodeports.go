// Package nodeports keeps two pods from taking the same host port.
package nodeports

import (
	"context"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is NodePorts.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "NodePorts" }

// PreFilter skips pods without host ports.
func (Plugin) PreFilter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, _ *snapshot.Snapshot) (*framework.PreFilterResult, *framework.Status) {
	if len(pod.Ports) == 0 {
		return nil, framework.NewStatus(framework.Skip)
	}
	return nil, nil
}

// Filter compares the pod's host ports with those of the pods on the node.
func (Plugin) Filter(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	for _, other := range node.Pods {
		for _, taken := range other.Ports {
			for _, want := range pod.Ports {
				if conflict(want, taken) {
					return framework.NewStatus(framework.Unschedulable, "node(s) didn't have free ports for the requested pod ports")
				}
			}
		}
	}
	return nil
}

func conflict(a, b snapshot.HostPort) bool {
	const all = "0.0.0.0"
	return a.Port == b.Port && a.Protocol == b.Protocol && (a.IP == b.IP || a.IP == all || b.IP == all)
}

// EventsToRegister are deleted pods and new nodes.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.AssignedPodDelete, framework.NodeAdd}
}
