package endpoint

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
)

// maxDisrupted bounds the evictions that the disruption controller has not yet confirmed.
const maxDisrupted = 2000

// evict deletes a pod if its disruption budget allows it.
func (e *Endpoint) evict(ctx context.Context, namespace, name string, ev *policyv1.Eviction, options metav1.CreateOptions) error {
	if ev.Name != "" && ev.Name != name {
		return apierrors.NewBadRequest("name in URL does not match name in Eviction object")
	}
	deletion := metav1.DeleteOptions{}
	if ev.DeleteOptions != nil {
		deletion = *ev.DeleteOptions
	}
	if len(options.DryRun) > 0 {
		deletion.DryRun = options.DryRun
	}
	if err := validateDelete(&deletion); err != nil {
		return err
	}
	entry, err := e.Get(ctx, namespace, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pod := entry.Object.(*corev1.Pod)
	if !ignoresBudgets(pod) {
		if err := e.spend(ctx, pod, len(deletion.DryRun) > 0); err != nil {
			return err
		}
	}
	_, _, err = e.remove(ctx, namespace, name, &deletion, func(obj object.Object) {
		p := obj.(*corev1.Pod)
		p.Status.Conditions = withCondition(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, ObservedGeneration: p.Generation, Reason: "EvictionByEvictionAPI",
			Message: "Eviction API: evicting", LastTransitionTime: metav1.NewTime(e.set.clock.Now()).Rfc3339Copy(),
		})
	})
	return err
}

// ignoresBudgets: a pod that does not run, or is going already, disrupts nothing.
func ignoresBudgets(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

// spend takes one disruption from the pod's budget, if it has one.
func (e *Endpoint) spend(ctx context.Context, pod *corev1.Pod, dryRun bool) error {
	budgets, ok := e.set.Find("policy", "v1", "poddisruptionbudgets")
	if !ok {
		return nil
	}
	name, err := budgets.budgetOf(ctx, pod)
	if err != nil || name == "" {
		return err
	}
	_, _, err = budgets.write(ctx, change{
		namespace: pod.Namespace, name: name, subresource: "status", dryRun: dryRun, unconditional: true,
		make: func(_ context.Context, old *object.Entry) (object.Object, error) {
			pdb := old.Object.(*policyv1.PodDisruptionBudget)
			if unhealthyMayGo(pod, pdb) {
				return deepCopy(pdb), nil
			}
			return budgets.spent(pdb, pod)
		},
	})
	return err
}

// budgetOf is the name of the one budget that selects the pod.
func (e *Endpoint) budgetOf(ctx context.Context, pod *corev1.Pod) (string, error) {
	all, err := e.List(ctx, pod.Namespace, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	var found []string
	for _, entry := range all.Entries {
		pdb := entry.Object.(*policyv1.PodDisruptionBudget)
		selector, err := metav1.LabelSelectorAsSelector(pdb.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			found = append(found, pdb.Name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil
	case 1:
		return found[0], nil
	}
	return "", &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
	}}
}

// unhealthyMayGo says whether a pod that is not ready may be evicted without spending anything.
func unhealthyMayGo(pod *corev1.Pod, pdb *policyv1.PodDisruptionBudget) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if p := pdb.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return pdb.Status.CurrentHealthy >= pdb.Status.DesiredHealthy && pdb.Status.DesiredHealthy > 0
}

// spent is the budget with one disruption less, or the error that says why there is none.
func (e *Endpoint) spent(old *policyv1.PodDisruptionBudget, pod *corev1.Pod) (object.Object, error) {
	s := &old.Status
	switch {
	case s.ObservedGeneration < old.Generation:
		return nil, tooManyDisruptions(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", old.Name))
	case s.DisruptionsAllowed < 0:
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, old.Name, fmt.Errorf("pdb disruptions allowed is negative"))
	case len(s.DisruptedPods) > maxDisrupted:
		return nil, apierrors.NewForbidden(schema.GroupResource{Group: "policy", Resource: "poddisruptionbudget"}, old.Name,
			fmt.Errorf("DisruptedPods map too big - too many evictions not confirmed by PDB controller"))
	case s.DisruptionsAllowed == 0:
		return nil, tooManyDisruptions(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", old.Name, s.DesiredHealthy, s.CurrentHealthy))
	}
	pdb := shallow(old).(*policyv1.PodDisruptionBudget)
	pdb.Status.DisruptionsAllowed--
	if pdb.Status.DisruptionsAllowed == 0 {
		pdb.Status.Conditions = append([]metav1.Condition(nil), s.Conditions...)
		meta.SetStatusCondition(&pdb.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
			ObservedGeneration: s.ObservedGeneration, LastTransitionTime: metav1.NewTime(e.set.clock.Now()).Rfc3339Copy(),
		})
	}
	pdb.Status.DisruptedPods = maps.Clone(s.DisruptedPods)
	if pdb.Status.DisruptedPods == nil {
		pdb.Status.DisruptedPods = map[string]metav1.Time{}
	}
	pdb.Status.DisruptedPods[pod.Name] = metav1.NewTime(e.set.clock.Now()).Rfc3339Copy()
	return pdb, nil
}

func tooManyDisruptions(retryAfter int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}
