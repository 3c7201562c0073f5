package topologyspread

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is PodTopologySpread.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "PodTopologySpread" }

// constraint is one constraint, ready to be counted.
type constraint struct {
	key        string
	maxSkew    int32
	minDomains int32
	// matches tells whether a pod counts.
	matches func(pod *corev1.Pod) bool
	// honorAffinity and honorTaints leave out the nodes that the pod cannot use anyway.
	honorAffinity, honorTaints bool
}

// constraintsOf reads the pod's constraints of one kind.
func constraintsOf(pod *corev1.Pod, action corev1.UnsatisfiableConstraintAction) ([]constraint, error) {
	var out []constraint
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return nil, fmt.Errorf("spec.topologySpreadConstraints[%d].labelSelector: %w", i, err)
		}
		for _, key := range c.MatchLabelKeys {
			if value, ok := pod.Labels[key]; ok {
				r, err := labels.NewRequirement(key, "in", []string{value})
				if err != nil {
					return nil, fmt.Errorf("spec.topologySpreadConstraints[%d].matchLabelKeys: %w", i, err)
				}
				selector = selector.Add(*r)
			}
		}
		namespace := pod.Namespace
		next := constraint{key: c.TopologyKey, maxSkew: c.MaxSkew, minDomains: 1, honorAffinity: true,
			matches: func(p *corev1.Pod) bool {
				return p.Namespace == namespace && p.DeletionTimestamp == nil && selector.Matches(labels.Set(p.Labels))
			}}
		if c.MinDomains != nil {
			next.minDomains = *c.MinDomains
		}
		if c.NodeAffinityPolicy != nil {
			next.honorAffinity = *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
		}
		if c.NodeTaintsPolicy != nil {
			next.honorTaints = *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		}
		out = append(out, next)
	}
	return out, nil
}

// defaults are the cluster's constraints for a pod that has none of its own and has a controller.
func defaults(pod *corev1.Pod) []constraint {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || len(pod.Spec.TopologySpreadConstraints) > 0 {
		return nil
	}
	same := sameController(owner.UID)
	return []constraint{
		{key: corev1.LabelHostname, maxSkew: 3, matches: same, honorAffinity: true},
		{key: corev1.LabelTopologyZone, maxSkew: 5, matches: same, honorAffinity: true},
	}
}

func sameController(uid types.UID) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(p)
		return owner != nil && owner.UID == uid && p.DeletionTimestamp == nil
	}
}

// counts has the number of matching pods in each domain (each value of the label).
type counts map[string]int32

// count counts over the nodes that the constraint looks at.
func (c *constraint) count(pod *corev1.Pod, nodes []*snapshot.NodeInfo) counts {
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	n := counts{}
	for _, node := range nodes {
		value, ok := node.Node.Labels[c.key]
		if !ok || !c.counts(pod, node.Node, required) {
			continue
		}
		n[value] += c.on(node)
	}
	return n
}

// on is the number of matching pods on a node.
func (c *constraint) on(node *snapshot.NodeInfo) int32 {
	var n int32
	for _, p := range node.Pods {
		if c.matches(p.Pod) {
			n++
		}
	}
	return n
}

// counts tells whether the constraint looks at the node.
func (c *constraint) counts(pod *corev1.Pod, node *corev1.Node, required nodeaffinity.RequiredNodeAffinity) bool {
	if c.honorAffinity {
		if match, err := required.Match(node); err != nil || !match {
			return false
		}
	}
	if c.honorTaints {
		_, found := corev1helpers.FindMatchingUntoleratedTaint(klog.Logger{}, node.Spec.Taints, pod.Spec.Tolerations, func(t *corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		}, false)
		return !found
	}
	return true
}
