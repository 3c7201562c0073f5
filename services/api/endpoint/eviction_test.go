package endpoint_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEviction(t *testing.T) {
	a := newAPI(t)
	pods, budgets := a.of("pods"), a.of("poddisruptionbudgets")
	evict := func(name string) error {
		_, err := pods.CreateSubresource(a.ctx, "default", name, "eviction", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
	for _, name := range []string{"p1", "p2", "p3"} {
		p := a.running(name, metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}).DeepCopy()
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if _, _, err := pods.Update(a.ctx, "default", name, "status", p, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := evict("p1"); err != nil {
		t.Fatalf("without a budget: %v", err)
	}
	p := a.pod("p1")
	if p.DeletionTimestamp == nil || p.Status.Conditions[1].Type != corev1.DisruptionTarget || p.Status.Conditions[1].Reason != "EvictionByEvictionAPI" {
		t.Errorf("evicted: %v %+v", p.DeletionTimestamp, p.Status.Conditions)
	}

	pdb := a.create("poddisruptionbudgets", "default", &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}).Object.DeepCopyObject().(*policyv1.PodDisruptionBudget)
	tooMany := func(err error, cause string) {
		t.Helper()
		s := wantError(t, err, 429, metav1.StatusReasonTooManyRequests, "Cannot evict pod as it would violate the pod's disruption budget.")
		if !apierrors.HasStatusCause(s, policyv1.DisruptionBudgetCause) || s.ErrStatus.Details.Causes[0].Message != cause {
			t.Errorf("causes %+v", s.ErrStatus.Details.Causes)
		}
	}
	tooMany(evict("p2"), "The disruption budget web is still being processed by the server.")
	pdb.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1, DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2}
	if _, _, err := budgets.Update(a.ctx, "default", "web", "status", pdb, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := evict("p2"); err != nil {
		t.Fatal(err)
	}
	status := a.get("poddisruptionbudgets", "default", "web").Object.(*policyv1.PodDisruptionBudget).Status
	if _, noted := status.DisruptedPods["p2"]; status.DisruptionsAllowed != 0 || !noted {
		t.Errorf("budget after an eviction: %+v", status)
	}
	tooMany(evict("p3"), "The disruption budget web needs 1 healthy pods and has 2 currently")
	wantError(t, evict("p4"), 404, metav1.StatusReasonNotFound, `pods "p4" not found`)
}
