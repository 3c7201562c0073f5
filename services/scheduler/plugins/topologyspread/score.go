package topologyspread

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

const scoreKey = "PodTopologySpread/score"

// ignored marks a node that lacks a label: it gets the lowest score.
const ignored = -1

// soft is one constraint that should hold, with its counts. For the hostname every node is its own domain and is counted when scored.
type soft struct {
	constraint
	counts counts
	weight float64
}

// PreScore counts for the constraints that should hold.
func (Plugin) PreScore(_ context.Context, state *framework.CycleState, pod *snapshot.PodInfo, feasible []*snapshot.NodeInfo) *framework.Status {
	constraints, err := constraintsOf(pod.Pod, corev1.ScheduleAnyway)
	if err != nil {
		return framework.AsStatus(err)
	}
	system := defaults(pod.Pod)
	constraints = append(constraints, system...)
	var all []soft
	for _, c := range constraints {
		s := soft{constraint: c}
		domains := len(feasible)
		if c.key != corev1.LabelHostname {
			s.counts = c.count(pod.Pod, feasible)
			domains = len(s.counts)
			if domains == 0 && len(system) > 0 {
				// A cluster without zones is not spread over zones.
				continue
			}
		}
		// Many domains hold few pods each: without a weight they would count for less than few large ones.
		s.weight = math.Log(float64(domains + 2))
		all = append(all, s)
	}
	if len(all) == 0 {
		return framework.NewStatus(framework.Skip)
	}
	state.Write(scoreKey, all)
	return nil
}

// Score is the weighted number of matching pods in the node's domains: fewer is better.
func (Plugin) Score(_ context.Context, state *framework.CycleState, _ *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	all, _ := state.Read(scoreKey).([]soft)
	sum := 0.0
	for i := range all {
		s := &all[i]
		value, ok := node.Node.Labels[s.key]
		if !ok {
			return ignored, nil
		}
		n := s.counts[value]
		if s.key == corev1.LabelHostname {
			n = s.on(node)
		}
		sum += float64(n)*s.weight + float64(s.maxSkew-1)
	}
	return int64(math.Round(sum)), nil
}

// NormalizeScore turns few pods into a high score.
func (Plugin) NormalizeScore(_ context.Context, _ *framework.CycleState, _ *snapshot.PodInfo, scores []int64) {
	least, most := int64(math.MaxInt64), int64(0)
	for _, s := range scores {
		if s != ignored {
			least, most = min(least, s), max(most, s)
		}
	}
	for i, s := range scores {
		switch {
		case s == ignored:
			scores[i] = 0
		case most == 0:
			scores[i] = framework.MaxNodeScore
		default:
			scores[i] = framework.MaxNodeScore * (most + least - s) / most
		}
	}
}
