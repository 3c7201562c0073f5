package endpoint_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/api/object"
)

func TestNamespaceLifecycle(t *testing.T) {
	a := newAPI(t)
	namespaces := a.of("namespaces")
	_, _, err := namespaces.Delete(a.ctx, "", "default", metav1.DeleteOptions{})
	wantError(t, err, 403, metav1.StatusReasonForbidden, `namespaces "default" is forbidden: this namespace may not be deleted`)

	a.create("namespaces", "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}})
	a.create("configmaps", "team", newConfigMap("x"))
	e, gone, err := namespaces.Delete(a.ctx, "", "team", metav1.DeleteOptions{})
	if err != nil || gone {
		t.Fatalf("gone %v, %v", gone, err)
	}
	if ns := e.Object.(*corev1.Namespace); ns.Status.Phase != corev1.NamespaceTerminating || ns.DeletionTimestamp == nil {
		t.Errorf("a deleted namespace: %+v", ns)
	}
	// What follows reads the cache, which a get brings up to date.
	a.get("namespaces", "", "team")
	_, err = a.of("configmaps").Create(a.ctx, "team", newConfigMap("y"), metav1.CreateOptions{})
	status := wantError(t, err, 403, metav1.StatusReasonForbidden, `configmaps "y" is forbidden: unable to create new content in namespace team because it is being terminated`)
	if !apierrors.HasStatusCause(status, corev1.NamespaceTerminatingCause) {
		t.Errorf("causes %+v", status.ErrStatus.Details.Causes)
	}
	ns := a.get("namespaces", "", "team").Object.DeepCopyObject().(*corev1.Namespace)
	ns.Spec.Finalizers = nil
	if _, _, err := namespaces.Update(a.ctx, "", "team", "finalize", ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = namespaces.Get(a.ctx, "", "team", metav1.GetOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, `namespaces "team" not found`)
}

func TestDelete(t *testing.T) {
	thirty, zero, five := pointer(int64(30)), pointer(int64(0)), pointer(int64(5))
	orphan, foreground := metav1.DeletePropagationOrphan, metav1.DeletePropagationForeground
	for _, c := range []struct {
		name       string
		finalizers []string
		bound      bool
		deletes    []metav1.DeleteOptions
		gone       bool
		grace      int64
		after      []string
	}{
		{name: "a pod without a node goes at once", deletes: []metav1.DeleteOptions{{}}, gone: true},
		{name: "a pod on a node has its grace period", bound: true, deletes: []metav1.DeleteOptions{{}}, grace: 30},
		{name: "a grace period of zero", bound: true, deletes: []metav1.DeleteOptions{{GracePeriodSeconds: zero}}, gone: true},
		{name: "a later delete shortens", bound: true, deletes: []metav1.DeleteOptions{{}, {GracePeriodSeconds: five}}, grace: 5},
		{name: "a later delete does not lengthen", bound: true, deletes: []metav1.DeleteOptions{{GracePeriodSeconds: five}, {GracePeriodSeconds: thirty}}, grace: 5},
		{name: "a later delete ends it", bound: true, deletes: []metav1.DeleteOptions{{}, {GracePeriodSeconds: zero}}, gone: true},
		{name: "finalizers hold", finalizers: []string{"a.b/c"}, deletes: []metav1.DeleteOptions{{}}, grace: 0, after: []string{"a.b/c"}},
		{name: "finalizers hold without grace too", bound: true, finalizers: []string{"a.b/c"}, deletes: []metav1.DeleteOptions{{GracePeriodSeconds: zero}}, grace: 0, after: []string{"a.b/c"}},
		{name: "orphan", deletes: []metav1.DeleteOptions{{PropagationPolicy: &orphan}}, after: []string{"orphan"}},
		{name: "foreground", deletes: []metav1.DeleteOptions{{PropagationPolicy: &foreground}}, after: []string{"foregroundDeletion"}},
		{name: "orphanDependents", deletes: []metav1.DeleteOptions{{OrphanDependents: pointer(true)}}, after: []string{"orphan"}},
		{name: "a later delete changes the policy", deletes: []metav1.DeleteOptions{{PropagationPolicy: &foreground}, {PropagationPolicy: &orphan}},
			// A pod is graceful: with its deletion under way, the finalizers are no longer the request's to choose.
			after: []string{"foregroundDeletion"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t)
			p := newPod("p")
			p.Finalizers = c.finalizers
			if c.bound {
				p.Spec.NodeName = "n1"
			}
			a.create("pods", "default", p)
			var gone bool
			for _, o := range c.deletes {
				var err error
				if _, gone, err = a.of("pods").Delete(a.ctx, "default", "p", o); err != nil {
					t.Fatal(err)
				}
			}
			if gone != c.gone {
				t.Fatalf("gone %v, want %v", gone, c.gone)
			}
			if gone {
				_, err := a.of("pods").Get(a.ctx, "default", "p", metav1.GetOptions{})
				wantError(t, err, 404, metav1.StatusReasonNotFound, `pods "p" not found`)
				return
			}
			got := a.pod("p")
			if got.DeletionGracePeriodSeconds == nil || *got.DeletionGracePeriodSeconds != c.grace ||
				!got.DeletionTimestamp.Time.Equal(start.Add(time.Duration(c.grace)*time.Second)) {
				t.Errorf("deletionTimestamp %v, grace %v", got.DeletionTimestamp, got.DeletionGracePeriodSeconds)
			}
			if got.Generation != 2 || strings.Join(got.Finalizers, ",") != strings.Join(c.after, ",") {
				t.Errorf("generation %d, finalizers %q", got.Generation, got.Finalizers)
			}
		})
	}
}

func TestFinalizersOfTheDeleted(t *testing.T) {
	a := newAPI(t)
	cm := newConfigMap("x")
	cm.Finalizers = []string{"a.b/c", "a.b/d"}
	a.create("configmaps", "default", cm)
	cms := a.of("configmaps")
	if _, gone, err := cms.Delete(a.ctx, "default", "x", metav1.DeleteOptions{}); err != nil || gone {
		t.Fatalf("gone %v, %v", gone, err)
	}
	patch := func(finalizers string) (*object.Entry, error) {
		e, _, err := cms.Patch(a.ctx, "default", "x", "", types.MergePatchType, []byte(`{"metadata":{"finalizers":`+finalizers+`}}`), metav1.PatchOptions{})
		return e, err
	}
	_, err := patch(`["a.b/c","a.b/d","a.b/e"]`)
	wantError(t, err, 422, metav1.StatusReasonInvalid, `ConfigMap "x" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"a.b/e"}`)
	if _, err := patch(`["a.b/d"]`); err != nil {
		t.Fatal(err)
	}
	before := a.get("configmaps", "default", "x").Revision
	last, err := patch(`null`)
	if err != nil || last.Revision <= before {
		t.Fatalf("removing the last finalizer: %v, %v", last, err)
	}
	_, err = cms.Get(a.ctx, "default", "x", metav1.GetOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, "")
}

func TestDeletePreconditions(t *testing.T) {
	a := newAPI(t)
	a.create("configmaps", "default", newConfigMap("x"))
	_, _, err := a.of("configmaps").Delete(a.ctx, "default", "x", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: pointer(types.UID("other"))}})
	wantError(t, err, 409, metav1.StatusReasonConflict, "")
	_, _, err = a.of("configmaps").Delete(a.ctx, "default", "x", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: pointer("1")}})
	wantError(t, err, 409, metav1.StatusReasonConflict, "")
	_, _, err = a.of("configmaps").Delete(a.ctx, "default", "x", metav1.DeleteOptions{PropagationPolicy: pointer(metav1.DeletionPropagation("Bad"))})
	wantError(t, err, 422, metav1.StatusReasonInvalid, "")
	_, _, err = a.of("configmaps").Delete(a.ctx, "default", "missing", metav1.DeleteOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, `configmaps "missing" not found`)
}

func TestDeleteCollection(t *testing.T) {
	a := newAPI(t)
	for _, name := range []string{"a", "b", "c"} {
		cm := newConfigMap(name)
		cm.Labels = map[string]string{"keep": map[bool]string{true: "yes", false: "no"}[name == "b"]}
		a.create("configmaps", "default", cm)
	}
	deleted, err := a.of("configmaps").DeleteCollection(a.ctx, "default", metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "keep=no"})
	if err != nil || len(deleted) != 2 {
		t.Fatalf("deleted %d, %v", len(deleted), err)
	}
	left, err := a.of("configmaps").List(a.ctx, "default", metav1.ListOptions{})
	if err != nil || len(left.Entries) != 1 || left.Entries[0].Object.GetName() != "b" {
		t.Errorf("left: %v, %v", left, err)
	}
}
