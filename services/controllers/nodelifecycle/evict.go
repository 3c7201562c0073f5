package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// defaultToleration is how long a pod that says nothing about it may stay on a node that is not ready or unreachable. Admission writes it into
// pods; those that came without it are treated alike.
const defaultToleration = 300 * time.Second

func noExecute(node *corev1.Node) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(node.Spec.Taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectNoExecute })
}

// stay is how long the pod may stay on a node with these taints, from now; forever when it tolerates all without a limit.
func stay(pod *corev1.Pod, taints []corev1.Taint, now time.Time) (left time.Duration, forever bool) {
	forever = true
	for _, taint := range taints {
		limit, limited := tolerated(pod, taint)
		if !limited {
			continue
		}
		since := now
		if taint.TimeAdded != nil {
			since = taint.TimeAdded.Time
		}
		l := max(0, since.Add(limit).Sub(now))
		if forever || l < left {
			left, forever = l, false
		}
	}
	return left, forever
}

// tolerated is for how long the pod tolerates the taint; limited is false when it does without end.
func tolerated(pod *corev1.Pod, taint corev1.Taint) (limit time.Duration, limited bool) {
	matched := false
	for i := range pod.Spec.Tolerations {
		t := &pod.Spec.Tolerations[i]
		if !t.ToleratesTaint(klog.Background(), &taint, true) {
			continue
		}
		if t.TolerationSeconds == nil {
			if !matched {
				limit, limited = 0, false
			}
			matched = true
			continue
		}
		l := max(0, time.Duration(*t.TolerationSeconds)*time.Second)
		if !limited || l < limit {
			limit, limited = l, true
		}
		matched = true
	}
	if matched {
		return limit, limited
	}
	if taint.Key == corev1.TaintNodeNotReady || taint.Key == corev1.TaintNodeUnreachable {
		return defaultToleration, true
	}
	return 0, true
}

// evict deletes the pods whose time on the node is over. next is when the next one's is.
func (n *nodes) evict(ctx context.Context, node *corev1.Node) (next time.Duration, err error) {
	taints := noExecute(node)
	if len(taints) == 0 {
		return 0, nil
	}
	now := n.Clock.Now()
	var failed []error
	for _, pod := range n.Pods.ByIndex(ByNode, node.Name) {
		left, forever := stay(pod, taints, now)
		switch {
		case forever || pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed:
		case left > 0:
			next = sooner(next, left+time.Millisecond)
		default:
			failed = append(failed, n.evictOne(ctx, pod))
		}
	}
	return next, errors.Join(failed...)
}

func (n *nodes) evictOne(ctx context.Context, pod *corev1.Pod) error {
	n.Events.Event(ctx, pod, corev1.EventTypeNormal, "TaintManagerEviction", "Marking for deletion Pod %s/%s", pod.Namespace, pod.Name)
	marked := pod.DeepCopy()
	setCondition(&marked.Status, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager",
		Message: "Taint manager: deleting due to NoExecute taint", LastTransitionTime: metav1.NewTime(n.Clock.Now()),
	})
	if _, err := n.Client.Pods(pod.Namespace).UpdateStatus(ctx, marked); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("marking pod %s/%s for eviction: %w", pod.Namespace, pod.Name, err)
	}
	err := n.Client.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func setCondition(status *corev1.PodStatus, c corev1.PodCondition) {
	status.Conditions = slices.DeleteFunc(status.Conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
	status.Conditions = append(status.Conditions, c)
}
