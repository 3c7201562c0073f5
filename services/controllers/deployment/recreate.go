package deployment

import (
	"context"

	"github.com/orrery-io/orrery/services/controllers/owner"
)

// recreate takes one step of a rollout in which old and new pods never run together.
func (r *rollout) recreate(ctx context.Context) error {
	if err := r.findRevisions(ctx, false); err != nil {
		return err
	}
	moved := false
	for _, rs := range active(r.old) {
		m, err := r.scale(ctx, rs, 0)
		if err != nil {
			return err
		}
		moved = moved || m
	}
	if moved || r.oldPodsRun() {
		return r.syncProgress(ctx)
	}
	if r.newSet == nil {
		if err := r.findRevisions(ctx, true); err != nil || r.newSet == nil {
			return err
		}
	}
	if _, err := r.scale(ctx, r.newSet, replicasOf(r.dep)); err != nil {
		return err
	}
	if complete(r.dep, &r.dep.Status) {
		if err := r.cleanUp(ctx); err != nil {
			return err
		}
	}
	return r.syncProgress(ctx)
}

// oldPodsRun tells whether a pod of an old ReplicaSet has not ended; one that is being deleted still runs.
func (r *rollout) oldPodsRun() bool {
	for _, rs := range r.old {
		if rs.Status.Replicas > 0 {
			// The ReplicaSet's own count may be ahead of our cache of pods.
			return true
		}
		for _, pod := range r.Pods.ByIndex(owner.ByController, string(rs.UID)) {
			if !owner.Terminal(pod) {
				return true
			}
		}
	}
	return false
}
