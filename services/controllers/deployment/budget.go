package deployment

import (
	"cmp"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// fenceposts turn maxSurge and maxUnavailable into numbers of pods: percentages of replicas, surge rounded up and unavailable rounded down. When
// both come out as 0 the rollout could not move, so unavailable is then 1.
func fenceposts(maxSurge, maxUnavailable *intstr.IntOrString, replicas int32) (surge, unavailable int32) {
	surge = scaled(maxSurge, replicas, true)
	unavailable = scaled(maxUnavailable, replicas, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return surge, unavailable
}

func scaled(v *intstr.IntOrString, total int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(ptr.To(ptr.Deref(v, intstr.FromInt32(0))), int(total), up)
	if err != nil {
		// Validation refuses such values.
		return 0
	}
	return int32(n)
}

func replicasOf(dep *appsv1.Deployment) int32 { return ptr.Deref(dep.Spec.Replicas, 1) }

func size(rs *appsv1.ReplicaSet) int32 {
	if rs == nil {
		return 0
	}
	return ptr.Deref(rs.Spec.Replicas, 1)
}

// surgeOf is the number of pods that may exist above spec.replicas; 0 unless rolling.
func surgeOf(dep *appsv1.Deployment) int32 {
	if !rolling(dep) {
		return 0
	}
	surge, _ := budgetOf(dep)
	return surge
}

// unavailableOf is the number of pods below spec.replicas that may be missing; 0 unless rolling.
func unavailableOf(dep *appsv1.Deployment) int32 {
	if !rolling(dep) {
		return 0
	}
	_, unavailable := budgetOf(dep)
	return min(unavailable, replicasOf(dep))
}

func budgetOf(dep *appsv1.Deployment) (surge, unavailable int32) {
	u := ptr.Deref(dep.Spec.Strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	return fenceposts(u.MaxSurge, u.MaxUnavailable, replicasOf(dep))
}

func rolling(dep *appsv1.Deployment) bool {
	return dep.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType
}

// newSize is how large the new ReplicaSet may be, given all others.
func newSize(dep *appsv1.Deployment, all []*appsv1.ReplicaSet, newSet *appsv1.ReplicaSet) int32 {
	want := replicasOf(dep)
	if !rolling(dep) {
		return want
	}
	// Pods that a ReplicaSet has yet to delete still count, so that the surge holds for pods and not only for plans.
	room := want + surgeOf(dep) - sum(all, func(rs *appsv1.ReplicaSet) int32 { return max(size(rs), rs.Status.Replicas) })
	if room <= 0 {
		return size(newSet)
	}
	return size(newSet) + min(room, want-size(newSet))
}

func sum(sets []*appsv1.ReplicaSet, of func(*appsv1.ReplicaSet) int32) int32 {
	total := int32(0)
	for _, rs := range sets {
		if rs != nil {
			total += of(rs)
		}
	}
	return total
}

func available(rs *appsv1.ReplicaSet) int32 { return rs.Status.AvailableReplicas }

func active(sets []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	var out []*appsv1.ReplicaSet
	for _, rs := range sets {
		if size(rs) > 0 {
			out = append(out, rs)
		}
	}
	return out
}

func byCreation(a, b *appsv1.ReplicaSet) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// proportional spreads a change of size over several ReplicaSets in a half-done rollout, each by its share of the whole, so that what is
// at risk stays in proportion. It returns the new size of each; sets must be active.
func proportional(dep *appsv1.Deployment, sets []*appsv1.ReplicaSet) map[string]int32 {
	allowed := int32(0)
	if replicasOf(dep) > 0 {
		allowed = replicasOf(dep) + surgeOf(dep)
	}
	toAdd := allowed - sum(sets, size)
	sorted := slices.Clone(sets)
	// The larger first; among equals, growth favours the newest and shrinking the oldest.
	slices.SortStableFunc(sorted, func(a, b *appsv1.ReplicaSet) int {
		if toAdd > 0 {
			return cmp.Or(cmp.Compare(size(b), size(a)), byCreation(b, a))
		}
		return cmp.Or(cmp.Compare(size(b), size(a)), byCreation(a, b))
	})
	sizes, added := make(map[string]int32, len(sorted)), int32(0)
	for _, rs := range sorted {
		share := int32(0)
		if toAdd != 0 {
			share = shareOf(dep, rs, toAdd-added)
			added += share
		}
		sizes[rs.Name] = size(rs) + share
	}
	// What rounding left over goes to the first.
	if len(sorted) > 0 && toAdd != added {
		first := sorted[0].Name
		sizes[first] = max(0, sizes[first]+toAdd-added)
	}
	return sizes
}

// shareOf is how much rs grows (or shrinks) with the Deployment, at most left.
func shareOf(dep *appsv1.Deployment, rs *appsv1.ReplicaSet, left int32) int32 {
	if size(rs) == 0 || left == 0 {
		return 0
	}
	var share int32
	if replicasOf(dep) == 0 {
		share = -size(rs)
	} else {
		before, ok := annotatedInt(rs, maxReplicasAnnotation)
		if !ok || before == 0 {
			before = max(1, dep.Status.Replicas)
		}
		now := float64(replicasOf(dep) + surgeOf(dep))
		share = int32(math.Round(float64(size(rs))*now/float64(before))) - size(rs)
	}
	if left > 0 {
		return min(share, left)
	}
	return max(share, left)
}
