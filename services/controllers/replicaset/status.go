package replicaset

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/controllers/owner"
)

// statusOf computes the status from the active pods. next is when a pod that is ready becomes available; 0 when none is waiting.
func statusOf(rs *appsv1.ReplicaSet, pods []*corev1.Pod, terminating int32, manageErr error, now time.Time) (status appsv1.ReplicaSetStatus, next time.Duration) {
	status = *rs.Status.DeepCopy()
	status.Replicas = int32(len(pods))
	status.FullyLabeledReplicas, status.ReadyReplicas, status.AvailableReplicas = 0, 0, 0
	status.TerminatingReplicas = &terminating
	status.ObservedGeneration = rs.Generation
	template := labels.SelectorFromSet(rs.Spec.Template.Labels)
	for _, p := range pods {
		if template.Matches(labels.Set(p.Labels)) {
			status.FullyLabeledReplicas++
		}
		wait, ready := owner.AvailableIn(p, rs.Spec.MinReadySeconds, now)
		if !ready {
			continue
		}
		status.ReadyReplicas++
		if wait == 0 {
			status.AvailableReplicas++
		} else if next == 0 || wait < next {
			next = wait
		}
	}
	failing := slices.ContainsFunc(status.Conditions, isFailure)
	switch {
	case manageErr == nil:
		status.Conditions = slices.DeleteFunc(status.Conditions, isFailure)
		if len(status.Conditions) == 0 {
			status.Conditions = nil
		}
	case !failing:
		reason := "FailedCreate"
		if len(pods) > int(ptr.Deref(rs.Spec.Replicas, 1)) {
			reason = "FailedDelete"
		}
		status.Conditions = append(status.Conditions, appsv1.ReplicaSetCondition{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: manageErr.Error(),
		})
	}
	return status, next
}

func isFailure(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }

func (r *replicaSets) updateStatus(ctx context.Context, rs *appsv1.ReplicaSet, status appsv1.ReplicaSetStatus) error {
	if equality.Semantic.DeepEqual(rs.Status, status) {
		return nil
	}
	rs = rs.DeepCopy()
	rs.Status = status
	if _, err := r.Client.ReplicaSets(rs.Namespace).UpdateStatus(ctx, rs); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("updating the status of ReplicaSet %s/%s: %w", rs.Namespace, rs.Name, err)
	}
	return nil
}
