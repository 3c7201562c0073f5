package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/queue"
)

// bind writes the decision. Whatever fails on the way is undone and the pod tried again.
func (s *Scheduler) bind(ctx context.Context, state *framework.CycleState, item *queue.Item, node string) {
	pod := item.Pod
	status := s.framework.RunPermit(ctx, state, pod, node)
	if status.OK() {
		status = s.framework.RunPreBind(ctx, state, pod, node)
	}
	if status.OK() {
		status = s.framework.RunBind(ctx, state, pod, node)
	}
	if status.OK() {
		s.queue.Done(item)
		s.framework.RunPostBind(ctx, state, pod, node)
		s.events.Event(ctx, pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, node)
		return
	}
	s.framework.RunUnreserve(ctx, state, pod, node)
	s.cache.Forget(pod.UID)
	// A pod that was assumed in vain may have kept another from its node.
	s.queue.Move(ctx, framework.AssignedPodDelete)
	err := statusError(status)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// Gone, replaced or bound by somebody else: the watch tells which.
		s.logger.Info("pod was not bound", "pod", pod.Namespace+"/"+pod.Name, "node", node, "reason", err)
		s.queue.Retry(ctx, item, nil)
		return
	}
	if ctx.Err() != nil {
		return
	}
	s.refuse(ctx, item, err)
}

// refuse puts the pod back into the queue and says why, in the pod's PodScheduled condition and in an event.
func (s *Scheduler) refuse(ctx context.Context, item *queue.Item, err error) {
	pod, reason := item.Pod, "SchedulerError"
	var fit *fitError
	switch {
	case errors.As(err, &fit):
		reason = corev1.PodReasonUnschedulable
		s.queue.Retry(ctx, item, fit.rejectedBy())
	case errors.Is(err, errNoNodes):
		reason = corev1.PodReasonUnschedulable
		// A node that appears is what NodeName, like every plugin that looks at nodes, waits for.
		s.queue.Retry(ctx, item, []string{"NodeName"})
	default:
		trace.SpanFromContext(ctx).SetStatus(codes.Error, err.Error())
		s.logger.Error("scheduling failed", "pod", pod.Namespace+"/"+pod.Name, "error", err)
		s.queue.Retry(ctx, item, nil)
	}
	s.events.Event(ctx, pod, corev1.EventTypeWarning, "FailedScheduling", "%s", err.Error())
	if err := s.note(ctx, pod, reason, err.Error()); err != nil && !apierrors.IsNotFound(err) && ctx.Err() == nil {
		s.logger.Warn("the PodScheduled condition was not written", "pod", pod.Namespace+"/"+pod.Name, "error", err)
	}
}

// note writes the PodScheduled condition unless it says the same already.
func (s *Scheduler) note(ctx context.Context, pod *corev1.Pod, reason, message string) error {
	now := metav1.NewTime(s.clock.Now())
	condition := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: reason, Message: message, LastTransitionTime: now}
	for _, old := range pod.Status.Conditions {
		if old.Type == corev1.PodScheduled && old.Status == condition.Status {
			if old.Reason == reason && old.Message == message {
				return nil
			}
			condition.LastTransitionTime = old.LastTransitionTime
		}
	}
	condition.ObservedGeneration = pod.Generation
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{condition}},
	})
	if err != nil {
		return fmt.Errorf("encoding the PodScheduled condition: %w", err)
	}
	_, err = s.client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, "status")
	return err
}
