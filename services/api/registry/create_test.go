package registry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/authn"
)

func TestQOSClass(t *testing.T) {
	for _, test := range []struct {
		spec string
		want corev1.PodQOSClass
	}{
		{"{containers: [{name: a}]}", corev1.PodQOSBestEffort},
		{"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]}", corev1.PodQOSBestEffort},
		{"{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}]}", corev1.PodQOSGuaranteed},
		{"{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}}}, {name: b}]}", corev1.PodQOSBurstable},
		{"{containers: [{name: a, resources: {limits: {cpu: 1, memory: 1Gi}, requests: {cpu: 500m}}}]}", corev1.PodQOSBurstable},
		{"{containers: [{name: a, resources: {requests: {cpu: 1}}}]}", corev1.PodQOSBurstable},
		{"{containers: [{name: a}], resources: {limits: {cpu: 1, memory: 1Gi}}}", corev1.PodQOSGuaranteed},
	} {
		k := kindNamed(t, "v1", "pods")
		pod := parse(t, k, "spec: "+test.spec).(*corev1.Pod)
		pod.Status.Phase = corev1.PodRunning // what a caller says is of no account
		k.Default(pod)
		k.PrepareCreate(context.Background(), pod)
		if pod.Status.QOSClass != test.want || pod.Status.Phase != corev1.PodPending {
			t.Errorf("%s: %s and %s, want %s and Pending", test.spec, pod.Status.QOSClass, pod.Status.Phase, test.want)
		}
	}
}

func TestPodGracePeriod(t *testing.T) {
	seconds := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		name         string
		node         string
		phase        corev1.PodPhase
		asked, usual *int64
		want         int64
	}{
		{"its own", "n", corev1.PodRunning, nil, seconds(30), 30},
		{"the caller's", "n", corev1.PodRunning, seconds(5), seconds(30), 5},
		{"at once", "n", corev1.PodRunning, seconds(0), seconds(30), 0},
		{"negative", "n", corev1.PodRunning, nil, seconds(-1), 1},
		{"not scheduled", "", corev1.PodPending, seconds(5), seconds(30), 0},
		{"ended", "n", corev1.PodSucceeded, seconds(5), seconds(30), 0},
	} {
		k := kindNamed(t, "v1", "pods")
		pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: test.node, TerminationGracePeriodSeconds: test.usual}, Status: corev1.PodStatus{Phase: test.phase}}
		if got := k.Graceful(context.Background(), pod, &metav1.DeleteOptions{GracePeriodSeconds: test.asked}); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestNamespaceIsHeldByItsContent(t *testing.T) {
	ctx := context.Background()
	k := kindNamed(t, "v1", "namespaces")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	k.PrepareCreate(ctx, ns)
	if diff := cmp.Diff([]corev1.FinalizerName{"kubernetes"}, ns.Spec.Finalizers); diff != "" || ns.Labels["kubernetes.io/metadata.name"] != "shop" {
		t.Fatalf("a new namespace: %s, labels %v", diff, ns.Labels)
	}
	changed := ns.DeepCopy()
	changed.Spec.Finalizers = nil
	k.PrepareUpdate(ctx, changed, ns)
	if !k.HoldDeletion(changed) {
		t.Error("an update took the finalizer away")
	}
	k.BeginDeletion(changed)
	if changed.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("a namespace that is being deleted is %s", changed.Status.Phase)
	}
	changed.Spec.Finalizers = nil
	if k.HoldDeletion(changed) {
		t.Error("held without finalizers")
	}
}

func TestJobSelectsItsOwnPods(t *testing.T) {
	k := kindNamed(t, "batch/v1", "jobs")
	j := parse(t, k, "{metadata: {name: j, uid: u1}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}").(*batchv1.Job)
	k.Default(j)
	k.PrepareCreate(context.Background(), j)
	want := map[string]string{"batch.kubernetes.io/controller-uid": "u1", "batch.kubernetes.io/job-name": "j", "controller-uid": "u1", "job-name": "j"}
	if diff := cmp.Diff(want, j.Spec.Template.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"batch.kubernetes.io/controller-uid": "u1"}, j.Spec.Selector.MatchLabels); diff != "" {
		t.Error(diff)
	}
	sameErrors(t, k.Validate(context.Background(), j), nil)
}

func TestSigningRequestNamesItsCaller(t *testing.T) {
	k := kindNamed(t, "certificates.k8s.io/v1", "certificatesigningrequests")
	r := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{Username: "somebody else"}}
	k.PrepareCreate(authn.WithUser(context.Background(), authn.User{Name: "jane", Groups: []string{"dev"}}), r)
	if r.Spec.Username != "jane" || len(r.Spec.Groups) != 1 || r.Spec.Groups[0] != "dev" {
		t.Errorf("the request is of %s in %v", r.Spec.Username, r.Spec.Groups)
	}
}

// What a service was given stays when an update does not mention it, and goes with a type that does not use it.
func TestServiceUpdatesKeepWhatWasGiven(t *testing.T) {
	const old = `
spec:
  type: NodePort
  clusterIP: 10.96.0.9
  clusterIPs: [10.96.0.9]
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  externalTrafficPolicy: Cluster
  ports: [{port: 80, nodePort: 30080}, {name: b, port: 81, nodePort: 30081}]
`
	for _, test := range []struct{ name, in, out string }{
		{"nothing mentioned", "spec: {type: NodePort, ports: [{port: 80}, {name: c, port: 82}]}",
			"spec: {type: NodePort, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, externalTrafficPolicy: Cluster, ports: [{port: 80, nodePort: 30080}, {name: c, port: 82}]}"},
		{"to ClusterIP", "spec: {type: ClusterIP, externalTrafficPolicy: Cluster, ports: [{port: 80, nodePort: 30080}]}",
			"spec: {type: ClusterIP, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, ports: [{port: 80}]}"},
		{"to ExternalName", "spec: {type: ExternalName, externalName: example.com, clusterIP: 10.96.0.9, clusterIPs: [10.96.0.9], externalTrafficPolicy: Cluster}",
			"spec: {type: ExternalName, externalName: example.com}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := kindNamed(t, "v1", "services")
			was, obj, want := parse(t, k, old), parse(t, k, test.in), parse(t, k, test.out)
			for _, s := range []interface{}{was, obj, want} {
				k.Default(s.(*corev1.Service))
			}
			k.PrepareUpdate(context.Background(), obj, was)
			if diff := cmp.Diff(show(t, want), show(t, obj)); diff != "" {
				t.Errorf("- want, + got:\n%s", diff)
			}
		})
	}
}
