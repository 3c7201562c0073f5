package deployment

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// counts is the status that the ReplicaSets add up to, with the condition Available.
func (r *rollout) counts() appsv1.DeploymentStatus {
	status := *r.dep.Status.DeepCopy()
	status.ObservedGeneration = r.dep.Generation
	status.Replicas = sum(r.all, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.Replicas })
	status.UpdatedReplicas = 0
	if r.newSet != nil {
		status.UpdatedReplicas = r.newSet.Status.Replicas
	}
	status.ReadyReplicas = sum(r.all, func(rs *appsv1.ReplicaSet) int32 { return rs.Status.ReadyReplicas })
	status.AvailableReplicas = sum(r.all, available)
	status.UnavailableReplicas = max(0, sum(r.all, size)-status.AvailableReplicas)
	status.TerminatingReplicas = nil
	if !slices.ContainsFunc(r.all, func(rs *appsv1.ReplicaSet) bool { return rs.Status.TerminatingReplicas == nil }) {
		status.TerminatingReplicas = ptr.To(sum(r.all, func(rs *appsv1.ReplicaSet) int32 { return *rs.Status.TerminatingReplicas }))
	}
	if status.AvailableReplicas >= replicasOf(r.dep)-unavailableOf(r.dep) {
		r.set(&status, appsv1.DeploymentAvailable, corev1.ConditionTrue, "MinimumReplicasAvailable", "Deployment has minimum availability.")
	} else {
		r.set(&status, appsv1.DeploymentAvailable, corev1.ConditionFalse, "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
	}
	return status
}

// syncStatus writes the counts alone.
func (r *rollout) syncStatus(ctx context.Context) error { return r.saveStatus(ctx, r.counts()) }

func (r *rollout) saveStatus(ctx context.Context, status appsv1.DeploymentStatus) error {
	r.dep.Status = status
	if equality.Semantic.DeepEqual(r.stored, status) {
		return nil
	}
	updated, err := r.Client.Deployments(r.dep.Namespace).UpdateStatus(ctx, r.dep)
	if err != nil {
		return fmt.Errorf("updating the status of Deployment %s/%s: %w", r.dep.Namespace, r.dep.Name, err)
	}
	r.dep, r.stored = updated, *updated.Status.DeepCopy()
	return nil
}

func conditionOf(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == t {
			return &status.Conditions[i]
		}
	}
	return nil
}

// set puts a condition into status. One that says the same for the same reason stays as it is; the transition time moves with the status only.
func (r *rollout) set(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType, s corev1.ConditionStatus, reason, message string) {
	c := appsv1.DeploymentCondition{Type: t, Status: s, Reason: reason, Message: message, LastUpdateTime: metav1.NewTime(r.now), LastTransitionTime: metav1.NewTime(r.now)}
	if old := conditionOf(status, t); old != nil {
		if old.Status == s && old.Reason == reason {
			return
		}
		if old.Status == s {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	remove(status, t)
	status.Conditions = append(status.Conditions, c)
}

func remove(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == t })
	if len(status.Conditions) == 0 {
		status.Conditions = nil
	}
}
