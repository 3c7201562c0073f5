package deployment

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// scale gives rs n replicas and records the sizes of the Deployment on it. moved tells whether the number changed.
func (r *rollout) scale(ctx context.Context, rs *appsv1.ReplicaSet, n int32) (moved bool, err error) {
	before := size(rs)
	rs = rs.DeepCopy()
	rs.Spec.Replicas = &n
	if annotated := annotateSizes(r.dep, rs); before == n && !annotated {
		return false, nil
	}
	updated, err := r.Client.ReplicaSets(rs.Namespace).Update(ctx, rs)
	if err != nil {
		return false, fmt.Errorf("scaling ReplicaSet %s/%s: %w", rs.Namespace, rs.Name, err)
	}
	r.replace(updated)
	if before == n {
		return false, nil
	}
	direction := "up"
	if n < before {
		direction = "down"
	}
	r.Events.Event(ctx, r.dep, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction, rs.Name, before, n)
	return true, nil
}

// resized tells whether spec.replicas changed since the ReplicaSets were last scaled.
func (r *rollout) resized() bool {
	for _, rs := range active(r.all) {
		if desired, ok := annotatedInt(rs, desiredReplicasAnnotation); ok && desired != replicasOf(r.dep) {
			return true
		}
	}
	return false
}

// resize brings the ReplicaSets to the Deployment's size without moving a rollout on: when it is paused, or before the next step.
func (r *rollout) resize(ctx context.Context) error {
	if err := r.findRevisions(ctx, false); err != nil {
		return err
	}
	if err := r.spread(ctx); err != nil {
		return err
	}
	if r.dep.Spec.Paused {
		if err := r.cleanUp(ctx); err != nil {
			return err
		}
	}
	return r.syncStatus(ctx)
}

func (r *rollout) spread(ctx context.Context) error {
	want := replicasOf(r.dep)
	if rs, ok := r.only(); ok {
		if rs != nil && size(rs) != want {
			_, err := r.scale(ctx, rs, want)
			return err
		}
		if rs != nil {
			_, err := r.scale(ctx, rs, size(rs))
			return err
		}
		return nil
	}
	if saturated(r.dep, r.newSet) {
		for _, rs := range active(r.old) {
			if _, err := r.scale(ctx, rs, 0); err != nil {
				return err
			}
		}
		return nil
	}
	if !rolling(r.dep) {
		return nil
	}
	sets := active(r.all)
	sizes := proportional(r.dep, sets)
	for _, rs := range slices.Clone(sets) {
		if _, err := r.scale(ctx, rs, sizes[rs.Name]); err != nil {
			return err
		}
	}
	return nil
}

// only is the one active ReplicaSet, or the latest when none is active; ok is false when several are.
func (r *rollout) only() (rs *appsv1.ReplicaSet, ok bool) {
	switch sets := active(r.all); {
	case len(sets) == 1:
		return sets[0], true
	case len(sets) > 1:
		return nil, false
	case r.newSet != nil:
		return r.newSet, true
	case len(r.old) > 0:
		return r.old[len(r.old)-1], true
	}
	return nil, true
}

// saturated tells whether the new ReplicaSet has taken over completely.
func saturated(dep *appsv1.Deployment, rs *appsv1.ReplicaSet) bool {
	if rs == nil {
		return false
	}
	desired, ok := annotatedInt(rs, desiredReplicasAnnotation)
	want := replicasOf(dep)
	return ok && size(rs) == want && desired == want && rs.Status.AvailableReplicas == want
}
