package deployment

import (
	"context"
	"fmt"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Reasons of the condition Progressing.
const (
	newReplicaSetCreated     = "NewReplicaSetCreated"
	foundNewReplicaSet       = "FoundNewReplicaSet"
	replicaSetUpdated        = "ReplicaSetUpdated"
	replicaSetCreateError    = "ReplicaSetCreateError"
	newReplicaSetAvailable   = "NewReplicaSetAvailable"
	progressDeadlineExceeded = "ProgressDeadlineExceeded"
	deploymentPaused         = "DeploymentPaused"
	deploymentResumed        = "DeploymentResumed"
)

func (r *rollout) hasDeadline() bool {
	s := r.dep.Spec.ProgressDeadlineSeconds
	return s != nil && *s != math.MaxInt32
}

func (r *rollout) progressing(s corev1.ConditionStatus, reason, message string) {
	r.set(&r.dep.Status, appsv1.DeploymentProgressing, s, reason, message)
}

// notePause marks a paused rollout, so that its deadline does not run, and the return from it.
func (r *rollout) notePause(ctx context.Context) error {
	if !r.hasDeadline() {
		return nil
	}
	c := conditionOf(&r.dep.Status, appsv1.DeploymentProgressing)
	if c != nil && c.Reason == progressDeadlineExceeded {
		return nil
	}
	marked := c != nil && c.Reason == deploymentPaused
	switch {
	case r.dep.Spec.Paused && !marked:
		r.progressing(corev1.ConditionUnknown, deploymentPaused, "Deployment is paused")
	case !r.dep.Spec.Paused && marked:
		r.progressing(corev1.ConditionUnknown, deploymentResumed, "Deployment is resumed")
	default:
		return nil
	}
	return r.saveStatus(ctx, r.dep.Status)
}

// complete tells whether status shows the rollout as done.
func complete(dep *appsv1.Deployment, status *appsv1.DeploymentStatus) bool {
	want := replicasOf(dep)
	return status.UpdatedReplicas == want && status.Replicas == want && status.AvailableReplicas == want && status.ObservedGeneration >= dep.Generation
}

// progressed tells whether status is closer to the end than before.
func progressed(before, status *appsv1.DeploymentStatus) bool {
	return status.UpdatedReplicas > before.UpdatedReplicas ||
		status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		status.ReadyReplicas > before.ReadyReplicas || status.AvailableReplicas > before.AvailableReplicas
}

// timedOut tells whether nothing has progressed for progressDeadlineSeconds.
func (r *rollout) timedOut(status *appsv1.DeploymentStatus) bool {
	c := conditionOf(status, appsv1.DeploymentProgressing)
	if c == nil || c.Reason == newReplicaSetAvailable {
		return false
	}
	return c.Reason == progressDeadlineExceeded || r.now.After(r.deadline(c))
}

func (r *rollout) deadline(c *appsv1.DeploymentCondition) time.Time {
	return c.LastUpdateTime.Add(time.Duration(*r.dep.Spec.ProgressDeadlineSeconds) * time.Second)
}

// syncProgress writes the counts and how the rollout is getting on.
func (r *rollout) syncProgress(ctx context.Context) error {
	status := r.counts()
	what := fmt.Sprintf("Deployment %q", r.dep.Name)
	if r.newSet != nil {
		what = fmt.Sprintf("ReplicaSet %q", r.newSet.Name)
	}
	const t = appsv1.DeploymentProgressing
	current := conditionOf(&r.dep.Status, t)
	// A rollout that was done is done: pods that fail or are scaled later do not put it back.
	done := status.Replicas == status.UpdatedReplicas && current != nil && current.Reason == newReplicaSetAvailable
	switch {
	case !r.hasDeadline():
		remove(&status, t)
	case done:
	case complete(r.dep, &status):
		r.set(&status, t, corev1.ConditionTrue, newReplicaSetAvailable, what+" has successfully progressed.")
	case progressed(&r.dep.Status, &status):
		// Every step counts as an update, though the reason stays: the deadline runs from it.
		transition := current != nil && current.Status == corev1.ConditionTrue
		since := r.now
		if transition {
			since = current.LastTransitionTime.Time
		}
		remove(&status, t)
		r.set(&status, t, corev1.ConditionTrue, replicaSetUpdated, what+" is progressing.")
		if transition {
			conditionOf(&status, t).LastTransitionTime.Time = since
		}
	case r.timedOut(&status):
		r.set(&status, t, corev1.ConditionFalse, progressDeadlineExceeded, what+" has timed out progressing.")
	}
	r.noteFailure(&status)
	r.awaitDeadline(&status)
	return r.saveStatus(ctx, status)
}

// noteFailure passes a ReplicaSet's ReplicaFailure on: the new one's, else any.
func (r *rollout) noteFailure(status *appsv1.DeploymentStatus) {
	var failure *appsv1.ReplicaSetCondition
	for _, rs := range r.all {
		for i := range rs.Status.Conditions {
			c := &rs.Status.Conditions[i]
			if c.Type == appsv1.ReplicaSetReplicaFailure && (failure == nil || rs == r.newSet) {
				failure = c
			}
		}
	}
	if failure == nil {
		remove(status, appsv1.DeploymentReplicaFailure)
		return
	}
	r.set(status, appsv1.DeploymentReplicaFailure, failure.Status, failure.Reason, failure.Message)
}

// awaitDeadline asks for a reconcile when the deadline passes, which no event announces.
func (r *rollout) awaitDeadline(status *appsv1.DeploymentStatus) {
	c := conditionOf(status, appsv1.DeploymentProgressing)
	if !r.hasDeadline() || c == nil || complete(r.dep, status) || c.Reason == newReplicaSetAvailable || c.Reason == progressDeadlineExceeded || r.dep.Spec.Paused {
		return
	}
	r.after = max(0, r.deadline(c).Sub(r.now)) + time.Second
}
