package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managed are the taints that follow from a node's state; all others are the user's.
var managed = map[string]bool{
	corev1.TaintNodeNotReady: true, corev1.TaintNodeUnreachable: true, corev1.TaintNodeUnschedulable: true,
	corev1.TaintNodeMemoryPressure: true, corev1.TaintNodeDiskPressure: true, corev1.TaintNodePIDPressure: true,
	corev1.TaintNodeNetworkUnavailable: true,
}

// wantedTaints are the managed taints of a node in its present state. giveUp is the one that deletes pods.
func wantedTaints(node *corev1.Node) (noSchedule []corev1.Taint, giveUp *corev1.Taint) {
	add := func(key string) {
		noSchedule = append(noSchedule, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	switch readyStatus(node) {
	case corev1.ConditionFalse:
		add(corev1.TaintNodeNotReady)
		if readyCondition(node) == nil {
			// It has just registered; nothing runs there yet.
			break
		}
		giveUp = &corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}
	case corev1.ConditionUnknown:
		add(corev1.TaintNodeUnreachable)
		giveUp = &corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
	}
	for _, p := range []struct {
		condition corev1.NodeConditionType
		key       string
	}{
		{corev1.NodeMemoryPressure, corev1.TaintNodeMemoryPressure}, {corev1.NodeDiskPressure, corev1.TaintNodeDiskPressure},
		{corev1.NodePIDPressure, corev1.TaintNodePIDPressure}, {corev1.NodeNetworkUnavailable, corev1.TaintNodeNetworkUnavailable},
	} {
		if c := conditionOf(node, p.condition); c != nil && c.Status == corev1.ConditionTrue {
			add(p.key)
		}
	}
	if node.Spec.Unschedulable {
		add(corev1.TaintNodeUnschedulable)
	}
	return noSchedule, giveUp
}

// merge puts the wanted taints in the place of the managed ones; one that is there already keeps its time.
func merge(present, wanted []corev1.Taint, now time.Time) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range present {
		keep := !managed[t.Key]
		for _, w := range wanted {
			keep = keep || w.MatchTaint(&t)
		}
		if keep {
			out = append(out, t)
		}
	}
	for _, w := range wanted {
		if !slices.ContainsFunc(out, func(t corev1.Taint) bool { return t.MatchTaint(&w) }) {
			at := metav1.NewTime(now)
			w.TimeAdded = &at
			out = append(out, w)
		}
	}
	return out
}

// taint brings the node's taints in line with its state. next is when a node that should be given up may be, if not now.
func (n *nodes) taint(ctx context.Context, node *corev1.Node) (current *corev1.Node, next time.Duration, err error) {
	now := n.Clock.Now()
	wanted, giveUp := wantedTaints(node)
	if giveUp != nil {
		if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(giveUp) }) {
			wanted = append(wanted, *giveUp)
		} else if wait := n.zones.wait(node, n.Nodes.List(), now); wait == 0 {
			wanted = append(wanted, *giveUp)
		} else {
			next = wait
		}
	}
	taints := merge(node.Spec.Taints, wanted, now)
	if equality.Semantic.DeepEqual(node.Spec.Taints, taints) {
		return node, next, nil
	}
	tainted := node.DeepCopy()
	tainted.Spec.Taints = taints
	updated, err := n.Client.Nodes().Update(ctx, tainted)
	if err != nil {
		return node, 0, fmt.Errorf("tainting node %s: %w", node.Name, err)
	}
	return updated, next, nil
}
