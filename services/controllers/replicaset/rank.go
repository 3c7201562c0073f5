package replicaset

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/controllers/owner"
)

// toDelete picks the n pods whose loss hurts least. related are the pods of the same application, pods included: where several of them
// share a node, one of those goes first.
func toDelete(pods, related []*corev1.Pod, n int, now time.Time) []*corev1.Pod {
	if n >= len(pods) {
		return pods
	}
	perNode := map[string]int{}
	for _, p := range related {
		if p.Spec.NodeName != "" {
			perNode[p.Spec.NodeName]++
		}
	}
	sorted := slices.Clone(pods)
	slices.SortFunc(sorted, func(a, b *corev1.Pod) int { return compare(a, b, perNode, now) })
	return sorted[:n]
}

// compare is negative when a should be deleted before b. The first difference decides: not assigned to a node, less far along, not ready, a
// lower deletion cost, on a node with more pods of the application, ready for a shorter time, more restarts, younger. Times are
// compared by order of magnitude, so that among pods of about one age chance (the uid) decides, and not always the youngest goes.
func compare(a, b *corev1.Pod, perNode map[string]int, now time.Time) int {
	aReady, bReady := owner.Ready(a), owner.Ready(b)
	if c := cmp.Or(
		boolean(a.Spec.NodeName != "", b.Spec.NodeName != ""),
		cmp.Compare(phaseOrder(a), phaseOrder(b)),
		boolean(aReady, bReady),
		cmp.Compare(deletionCost(a), deletionCost(b)),
		cmp.Compare(perNode[b.Spec.NodeName], perNode[a.Spec.NodeName]),
	); c != 0 {
		return c
	}
	if aReady && bReady {
		if c, decided := byAge(owner.ReadyCondition(a).LastTransitionTime, owner.ReadyCondition(b).LastTransitionTime, a, b, now); decided {
			return c
		}
	}
	if c := cmp.Compare(restarts(b), restarts(a)); c != 0 {
		return c
	}
	c, _ := byAge(a.CreationTimestamp, b.CreationTimestamp, a, b, now)
	return c
}

func boolean(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func phaseOrder(p *corev1.Pod) int {
	switch p.Status.Phase {
	case corev1.PodUnknown:
		return 1
	case corev1.PodRunning:
		return 2
	}
	return 0
}

// deletionCost is the annotation controller.kubernetes.io/pod-deletion-cost; 0 without one or with a bad one.
func deletionCost(p *corev1.Pod) int64 {
	cost, err := strconv.ParseInt(p.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return cost
}

func restarts(p *corev1.Pod) int32 {
	most := int32(0)
	for _, c := range p.Status.ContainerStatuses {
		most = max(most, c.RestartCount)
	}
	return most
}

// byAge puts the younger first by order of magnitude of its age, and the uid decides within one. An unknown time counts as youngest.
func byAge(at, bt metav1.Time, a, b *corev1.Pod, now time.Time) (c int, decided bool) {
	if at.Equal(&bt) {
		return 0, false
	}
	if at.IsZero() || bt.IsZero() {
		return boolean(!at.IsZero(), !bt.IsZero()), true
	}
	if c := cmp.Compare(magnitude(now.Sub(at.Time)), magnitude(now.Sub(bt.Time))); c != 0 {
		return c, true
	}
	return cmp.Compare(a.UID, b.UID), true
}

func magnitude(age time.Duration) int {
	if age <= 0 {
		return -1
	}
	return int(math.Log2(float64(age)))
}
