package topologyspread

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

const (
	filterKey = "PodTopologySpread/filter"
	// Reasons in Kubernetes' words.
	reasonSkew    = "node(s) didn't match pod topology spread constraints"
	reasonMissing = "node(s) didn't match pod topology spread constraints (missing required label)"
)

// hard is one constraint that must hold, with its counts.
type hard struct {
	constraint
	counts counts
	least  int32
	self   int32
}

// PreFilter counts for the constraints that must hold.
func (Plugin) PreFilter(_ context.Context, state *framework.CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot) (*framework.PreFilterResult, *framework.Status) {
	constraints, err := constraintsOf(pod.Pod, corev1.DoNotSchedule)
	if err != nil {
		return nil, framework.AsStatus(err)
	}
	if len(constraints) == 0 {
		return nil, framework.NewStatus(framework.Skip)
	}
	all := make([]hard, 0, len(constraints))
	for _, c := range constraints {
		h := hard{constraint: c, counts: c.count(pod.Pod, nodes.Nodes), least: math.MaxInt32}
		for _, n := range h.counts {
			h.least = min(h.least, n)
		}
		if len(h.counts) < int(c.minDomains) {
			h.least = 0
		}
		if c.matches(pod.Pod) {
			h.self = 1
		}
		all = append(all, h)
	}
	state.Write(filterKey, all)
	return nil, nil
}

// Filter refuses a node whose domain would be too far ahead of the emptiest.
func (Plugin) Filter(_ context.Context, state *framework.CycleState, _ *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	all, _ := state.Read(filterKey).([]hard)
	for i := range all {
		h := &all[i]
		value, ok := node.Node.Labels[h.key]
		if !ok {
			return framework.NewStatus(framework.UnschedulableAndUnresolvable, reasonMissing)
		}
		least := h.least
		if len(h.counts) == 0 {
			least = 0
		}
		if h.counts[value]+h.self-least > h.maxSkew {
			return framework.NewStatus(framework.Unschedulable, reasonSkew)
		}
	}
	return nil
}

// EventsToRegister are changes of pods and nodes' labels.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.AssignedPodAdd, framework.AssignedPodUpdate, framework.AssignedPodDelete, framework.NodeAdd, framework.NodeUpdateLabel, framework.NodeUpdateTaint}
}
