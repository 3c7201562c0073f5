package endpoint_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/api/object"
)

func TestCreateFillsInMetadata(t *testing.T) {
	a := newAPI(t)
	p := newPod("web")
	p.UID, p.Generation, p.DeletionTimestamp = "chosen", 7, &metav1.Time{Time: start}
	p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate}}
	p.Status.Phase = corev1.PodRunning
	e := a.create("pods", "default", p)
	got := a.pod("web")
	if got.UID == "chosen" || len(got.UID) != 36 {
		t.Errorf("uid %q", got.UID)
	}
	if !got.CreationTimestamp.Time.Equal(start) || got.Generation != 1 || got.DeletionTimestamp != nil || got.ManagedFields != nil || got.Namespace != "default" {
		t.Errorf("metadata %+v", got.ObjectMeta)
	}
	if got.Status.Phase == corev1.PodRunning {
		t.Error("a new pod brought its own status")
	}
	if got.ResourceVersion == "" || got.ResourceVersion != e.Object.GetResourceVersion() {
		t.Errorf("resourceVersion %q, create answered %q", got.ResourceVersion, e.Object.GetResourceVersion())
	}
}

func TestCreateErrors(t *testing.T) {
	a := newAPI(t)
	a.create("configmaps", "default", newConfigMap("taken"))
	named := func(name string) *corev1.ConfigMap { return newConfigMap(name) }
	other := named("x")
	other.Namespace = "elsewhere"
	versioned := named("x")
	versioned.ResourceVersion = "5"
	owned := named("x")
	owned.OwnerReferences = []metav1.OwnerReference{{Kind: "Pod", Name: "p", UID: "u"}}
	for _, c := range []struct {
		name, namespace string
		obj             object.Object
		code            int32
		reason          metav1.StatusReason
		message         string
	}{
		{"exists", "default", named("taken"), 409, metav1.StatusReasonAlreadyExists, `configmaps "taken" already exists`},
		{"no such namespace", "nowhere", named("x"), 404, metav1.StatusReasonNotFound, `namespaces "nowhere" not found`},
		{"other namespace", "default", other, 400, metav1.StatusReasonBadRequest, "the namespace of the provided object does not match the namespace sent on the request"},
		{"resourceVersion", "default", versioned, 400, metav1.StatusReasonBadRequest, "resourceVersion should not be set on objects to be created"},
		{"name", "default", named("Not_Valid"), 422, metav1.StatusReasonInvalid, `ConfigMap "Not_Valid" is invalid: metadata.name: Invalid value: "Not_Valid": ` +
			`a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ` +
			`(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		{"no name", "default", named(""), 422, metav1.StatusReasonInvalid, `ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`},
		{"owner", "default", owned, 422, metav1.StatusReasonInvalid, `ConfigMap "x" is invalid: metadata.ownerReferences[0].apiVersion: Required value: must not be empty`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := a.of("configmaps").Create(a.ctx, c.namespace, c.obj, metav1.CreateOptions{})
			wantError(t, err, c.code, c.reason, c.message)
		})
	}
}

func TestGenerateName(t *testing.T) {
	a := newAPI(t)
	cm := newConfigMap("")
	cm.GenerateName = strings.Repeat("a", 70)
	name := a.create("configmaps", "default", cm).Object.GetName()
	if !regexp.MustCompile(`^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$`).MatchString(name) {
		t.Errorf("name %q", name)
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	a := newAPI(t)
	dry := []string{metav1.DryRunAll}
	cms := a.of("configmaps")
	if _, err := cms.Create(a.ctx, "default", newConfigMap("x"), metav1.CreateOptions{DryRun: dry}); err != nil {
		t.Fatal(err)
	}
	_, err := cms.Get(a.ctx, "default", "x", metav1.GetOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, `configmaps "x" not found`)

	before := a.create("configmaps", "default", newConfigMap("x"))
	_, err = cms.Create(a.ctx, "default", newConfigMap("x"), metav1.CreateOptions{DryRun: dry})
	wantError(t, err, 409, metav1.StatusReasonAlreadyExists, "")
	changed := newConfigMap("x")
	changed.Data["k"] = "other"
	e, _, err := cms.Update(a.ctx, "default", "x", "", changed, metav1.UpdateOptions{DryRun: dry})
	if err != nil || e.Object.(*corev1.ConfigMap).Data["k"] != "other" {
		t.Fatalf("a dry update answered %v %v", e, err)
	}
	if _, gone, err := cms.Delete(a.ctx, "default", "x", metav1.DeleteOptions{DryRun: dry}); err != nil || !gone {
		t.Fatalf("a dry delete: gone %v, %v", gone, err)
	}
	if now := a.get("configmaps", "default", "x"); now.Revision != before.Revision {
		t.Error("a dry run wrote")
	}
}

func TestUpdateConcurrency(t *testing.T) {
	a := newAPI(t)
	first := a.create("configmaps", "default", newConfigMap("x"))
	cms := a.of("configmaps")

	change := newConfigMap("x")
	change.ResourceVersion = first.Object.GetResourceVersion()
	change.Data["k"] = "2"
	second, _, err := cms.Update(a.ctx, "default", "x", "", change, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if second.Revision <= first.Revision || second.Object.GetUID() != first.Object.GetUID() || !second.Object.GetCreationTimestamp().Time.Equal(start) {
		t.Errorf("after the update: %+v", second.Object)
	}
	stale := newConfigMap("x")
	stale.ResourceVersion = first.Object.GetResourceVersion()
	_, _, err = cms.Update(a.ctx, "default", "x", "", stale, metav1.UpdateOptions{})
	wantError(t, err, 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on configmaps "x": the object has been modified; please apply your changes to the latest version and try again`)

	same := newConfigMap("x")
	same.Data["k"] = "2"
	third, _, err := cms.Update(a.ctx, "default", "x", "", same, metav1.UpdateOptions{})
	if err != nil || third.Revision != second.Revision {
		t.Errorf("an update that changes nothing made revision %d of %d (%v)", third.Revision, second.Revision, err)
	}
	other := newConfigMap("x")
	other.UID = "other"
	_, _, err = cms.Update(a.ctx, "default", "x", "", other, metav1.UpdateOptions{})
	wantError(t, err, 409, metav1.StatusReasonConflict, "")
	_, _, err = cms.Update(a.ctx, "default", "y", "", newConfigMap("x"), metav1.UpdateOptions{})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, "the name of the object (x) does not match the name on the URL (y)")
	_, _, err = cms.Update(a.ctx, "default", "y", "", newConfigMap("y"), metav1.UpdateOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, `configmaps "y" not found`)
}

func TestUpdateThatCreates(t *testing.T) {
	a := newAPI(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: coordinationv1.LeaseSpec{HolderIdentity: pointer("me"), LeaseDurationSeconds: pointer(int32(15))}}
	e, created, err := a.of("leases").Update(a.ctx, "default", "l", "", lease, metav1.UpdateOptions{})
	if err != nil || !created || e.Object.GetUID() == "" {
		t.Fatalf("created %v, %v", created, err)
	}
	again := lease.DeepCopy()
	again.ResourceVersion = ""
	again.Spec.HolderIdentity = pointer("you")
	_, _, err = a.of("leases").Update(a.ctx, "default", "l", "", again, metav1.UpdateOptions{})
	wantError(t, err, 422, metav1.StatusReasonInvalid, `leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
}

func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: newPod("").Spec}},
	}
}

func TestStatusAndSpecAreApart(t *testing.T) {
	a := newAPI(t)
	deployments := a.of("deployments")
	d := a.create("deployments", "default", deployment(1)).Object.DeepCopyObject().(*appsv1.Deployment)

	d.Status.Replicas, d.Spec.Replicas = 1, pointer(int32(5))
	d.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	e, _, err := deployments.Update(a.ctx, "default", "web", "status", d, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := e.Object.(*appsv1.Deployment)
	if got.Status.Replicas != 1 || *got.Spec.Replicas != 1 || got.Generation != 1 || got.Annotations["deployment.kubernetes.io/revision"] != "1" {
		t.Errorf("after the status update: generation %d, replicas %d, %+v", got.Generation, *got.Spec.Replicas, got.Status)
	}
	d = got.DeepCopy()
	d.Status.Replicas, d.Spec.Replicas = 9, pointer(int32(3))
	if e, _, err = deployments.Update(a.ctx, "default", "web", "", d, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got = e.Object.(*appsv1.Deployment)
	if got.Status.Replicas != 1 || *got.Spec.Replicas != 3 || got.Generation != 2 {
		t.Errorf("after the spec update: generation %d, replicas %d, %+v", got.Generation, *got.Spec.Replicas, got.Status)
	}
}

func TestScale(t *testing.T) {
	a := newAPI(t)
	a.create("deployments", "default", deployment(1))
	deployments := a.of("deployments")
	e, err := deployments.GetSubresource(a.ctx, "default", "web", "scale", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := e.Object.(*autoscalingv1.Scale)
	if scale.Spec.Replicas != 1 || scale.Status.Selector != "app=web" || scale.Kind != "Scale" {
		t.Errorf("scale %+v", scale)
	}
	scale = scale.DeepCopy()
	scale.Spec.Replicas = 4
	if e, _, err = deployments.Update(a.ctx, "default", "web", "scale", scale, metav1.UpdateOptions{}); err != nil || e.Object.(*autoscalingv1.Scale).Spec.Replicas != 4 {
		t.Fatalf("scaled to %v, %v", e, err)
	}
	stale := scale.DeepCopy()
	stale.Spec.Replicas = 5
	_, _, err = deployments.Update(a.ctx, "default", "web", "scale", stale, metav1.UpdateOptions{})
	wantError(t, err, 409, metav1.StatusReasonConflict, "")
	if _, _, err = deployments.Patch(a.ctx, "default", "web", "scale", types.MergePatchType, []byte(`{"spec":{"replicas":7}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	d := a.get("deployments", "default", "web").Object.(*appsv1.Deployment)
	if *d.Spec.Replicas != 7 || d.Generation != 3 {
		t.Errorf("replicas %d in generation %d", *d.Spec.Replicas, d.Generation)
	}
	_, _, err = deployments.Patch(a.ctx, "default", "web", "scale", types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`), metav1.PatchOptions{})
	wantError(t, err, 422, metav1.StatusReasonInvalid, `Scale.autoscaling "web" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0`)
}

func TestBinding(t *testing.T) {
	a := newAPI(t)
	a.create("pods", "default", newPod("p"))
	bind := func(node string) error {
		_, err := a.of("pods").CreateSubresource(a.ctx, "default", "p", "binding", &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{"a": "b"}}, Target: corev1.ObjectReference{Kind: "Node", Name: node},
		}, metav1.CreateOptions{})
		return err
	}
	if err := bind("n1"); err != nil {
		t.Fatal(err)
	}
	p := a.pod("p")
	if p.Spec.NodeName != "n1" || p.Annotations["a"] != "b" || len(p.Status.Conditions) != 1 ||
		p.Status.Conditions[0].Type != corev1.PodScheduled || p.Status.Conditions[0].Status != corev1.ConditionTrue {
		t.Errorf("bound: %+v %+v", p.Spec.NodeName, p.Status)
	}
	wantError(t, bind("n2"), 409, metav1.StatusReasonConflict, `Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"`)
	wantError(t, bind(""), 422, metav1.StatusReasonInvalid, "")
}

// Of many updates of one version, one wins.
func TestUpdatesOfOneVersionRace(t *testing.T) {
	a := newAPI(t)
	for round := range 20 {
		first := a.create("configmaps", "default", newConfigMap(fmt.Sprint("x", round)))
		var won atomic.Int32
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				change := first.Object.DeepCopyObject().(*corev1.ConfigMap)
				change.Data["k"] = fmt.Sprint("by ", i/2) // some write the same
				switch _, _, err := a.of("configmaps").Update(a.ctx, "default", change.Name, "", change, metav1.UpdateOptions{}); {
				case err == nil:
					won.Add(1)
				case !apierrors.IsConflict(err):
					t.Errorf("update %d: %v", i, err)
				}
			})
		}
		group.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d updates of one version succeeded", won.Load())
		}
	}
}
