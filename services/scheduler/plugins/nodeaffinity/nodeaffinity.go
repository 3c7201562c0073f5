// Package nodeaffinity applies spec.nodeSelector and spec.affinity.nodeAffinity: the required terms filter, the preferred ones score.
package nodeaffinity

import (
	"context"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is NodeAffinity.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "NodeAffinity" }

const (
	requiredKey  = "NodeAffinity/required"
	preferredKey = "NodeAffinity/preferred"
	reason       = "node(s) didn't match Pod's node affinity/selector"
)

// PreFilter parses the required terms once, and narrows down to the nodes that every term names by metadata.name.
func (Plugin) PreFilter(_ context.Context, state *framework.CycleState, pod *snapshot.PodInfo, _ *snapshot.Snapshot) (*framework.PreFilterResult, *framework.Status) {
	spec := &pod.Pod.Spec
	noAffinity := spec.Affinity == nil || spec.Affinity.NodeAffinity == nil || spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil
	if noAffinity && len(spec.NodeSelector) == 0 {
		return nil, framework.NewStatus(framework.Skip)
	}
	state.Write(requiredKey, nodeaffinity.GetRequiredNodeAffinity(pod.Pod))
	if noAffinity {
		return nil, nil
	}
	var names sets.Set[string]
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var inTerm sets.Set[string]
		for _, field := range term.MatchFields {
			if field.Key == "metadata.name" && field.Operator == "In" {
				s := sets.New(field.Values...)
				if inTerm != nil {
					s = inTerm.Intersection(s)
				}
				inTerm = s
			}
		}
		if inTerm == nil {
			// Terms are alternatives: one without a name may match any node.
			return nil, nil
		}
		names = inTerm.Union(names)
	}
	if names != nil && names.Len() == 0 {
		return nil, framework.NewStatus(framework.UnschedulableAndUnresolvable, "pod affinity terms conflict")
	}
	return &framework.PreFilterResult{NodeNames: names}, nil
}

// Filter matches the required terms.
func (Plugin) Filter(_ context.Context, state *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *framework.Status {
	required, ok := state.Read(requiredKey).(nodeaffinity.RequiredNodeAffinity)
	if !ok {
		required = nodeaffinity.GetRequiredNodeAffinity(pod.Pod)
	}
	if match, err := required.Match(node.Node); err != nil || !match {
		return framework.NewStatus(framework.UnschedulableAndUnresolvable, reason)
	}
	return nil
}

// PreScore parses the preferred terms.
func (Plugin) PreScore(_ context.Context, state *framework.CycleState, pod *snapshot.PodInfo, _ []*snapshot.NodeInfo) *framework.Status {
	affinity := pod.Pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return framework.NewStatus(framework.Skip)
	}
	terms, err := nodeaffinity.NewPreferredSchedulingTerms(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	if err != nil {
		return framework.AsStatus(err)
	}
	state.Write(preferredKey, terms)
	return nil
}

// Score sums the weights of the preferred terms that match.
func (Plugin) Score(_ context.Context, state *framework.CycleState, _ *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	terms, ok := state.Read(preferredKey).(*nodeaffinity.PreferredSchedulingTerms)
	if !ok {
		return 0, nil
	}
	return terms.Score(node.Node), nil
}

// NormalizeScore scales by the best node.
func (Plugin) NormalizeScore(_ context.Context, _ *framework.CycleState, _ *snapshot.PodInfo, scores []int64) {
	framework.Normalize(scores, false)
}

// EventsToRegister are new nodes and changed labels.
func (Plugin) EventsToRegister() []framework.ClusterEvent {
	return []framework.ClusterEvent{framework.NodeAdd, framework.NodeUpdateLabel}
}
