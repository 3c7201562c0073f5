package deployment

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// rollout is one reconcile of one Deployment.
type rollout struct {
	*deployments
	dep    *appsv1.Deployment      // our copy
	stored appsv1.DeploymentStatus // the status as the api has it
	// all ReplicaSets of the Deployment, oldest first: the new one and the old ones. Those that this reconcile changed are as the api answered.
	all, old []*appsv1.ReplicaSet
	newSet   *appsv1.ReplicaSet // nil until there is one
	now      time.Time
	after    time.Duration
}

// replace puts an updated ReplicaSet in the place of its former state.
func (r *rollout) replace(rs *appsv1.ReplicaSet) {
	for _, sets := range [][]*appsv1.ReplicaSet{r.all, r.old} {
		for i := range sets {
			if sets[i].UID == rs.UID {
				sets[i] = rs
			}
		}
	}
	if r.newSet != nil && r.newSet.UID == rs.UID {
		r.newSet = rs
	}
}

// roll takes one step of a rolling update: the new ReplicaSet grows if it may, else the old ones shrink as far as they may.
func (r *rollout) roll(ctx context.Context) error {
	if err := r.findRevisions(ctx, true); err != nil {
		return err
	}
	if r.newSet == nil {
		return nil
	}
	moved, err := r.growNew(ctx)
	if err == nil && !moved {
		moved, err = r.shrinkOld(ctx)
	}
	if err != nil {
		return err
	}
	if !moved && complete(r.dep, &r.dep.Status) {
		if err := r.cleanUp(ctx); err != nil {
			return err
		}
	}
	return r.syncProgress(ctx)
}

func (r *rollout) growNew(ctx context.Context) (moved bool, err error) {
	want := replicasOf(r.dep)
	switch n := size(r.newSet); {
	case n == want:
		return false, nil
	case n > want:
		return r.scale(ctx, r.newSet, want)
	}
	return r.scale(ctx, r.newSet, newSize(r.dep, r.all, r.newSet))
}

// shrinkOld deletes old replicas: first those that are not available, which costs nothing, then available ones as far as enough others are.
func (r *rollout) shrinkOld(ctx context.Context) (moved bool, err error) {
	if sum(r.old, size) == 0 {
		return false, nil
	}
	minAvailable := replicasOf(r.dep) - unavailableOf(r.dep)
	// Replicas of the new ReplicaSet that are not available yet count against the budget: pods by plan, not by cached status, so
	// that a status that is behind cannot lead below it.
	budget := sum(r.all, size) - minAvailable - (size(r.newSet) - available(r.newSet))
	if budget <= 0 {
		return false, nil
	}
	for _, rs := range active(r.old) {
		n := min(budget, size(rs)-available(rs))
		if n <= 0 {
			continue
		}
		m, err := r.scale(ctx, rs, size(rs)-n)
		if err != nil {
			return moved, err
		}
		moved, budget = moved || m, budget-n
	}
	spare := min(budget, sum(r.all, available)-minAvailable)
	for _, rs := range active(r.old) {
		n := min(spare, size(rs))
		if n <= 0 {
			break
		}
		m, err := r.scale(ctx, rs, size(rs)-n)
		if err != nil {
			return moved, err
		}
		moved, spare = moved || m, spare-n
	}
	return moved, nil
}
