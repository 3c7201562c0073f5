package deployment

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

func TestFenceposts(t *testing.T) {
	for _, tc := range []struct {
		surge, unavailable string
		replicas           int32
		wantS, wantU       int32
	}{
		{"25%", "25%", 3, 1, 0}, // surge rounds up, unavailable down
		{"25%", "25%", 8, 2, 2},
		{"25%", "25%", 1, 1, 0},
		{"0", "0%", 10, 0, 1}, // could not move otherwise
		{"0", "1%", 10, 0, 1},
		{"3", "50%", 5, 3, 2},
		{"100%", "0", 4, 4, 0},
	} {
		s, u := fenceposts(ptr.To(intstr.Parse(tc.surge)), ptr.To(intstr.Parse(tc.unavailable)), tc.replicas)
		if s != tc.wantS || u != tc.wantU {
			t.Errorf("surge %s, unavailable %s of %d: %d and %d, want %d and %d", tc.surge, tc.unavailable, tc.replicas, s, u, tc.wantS, tc.wantU)
		}
	}
}

func dep(replicas int32, surge, unavailable int) *appsv1.Deployment {
	return &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: &replicas, Strategy: appsv1.DeploymentStrategy{
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt(surge)), MaxUnavailable: ptr.To(intstr.FromInt(unavailable))}}}}
}

var epoch = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func rs(name string, age int, spec, status int32, annotations ...string) *appsv1.ReplicaSet {
	s := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(epoch.Add(-time.Duration(age) * time.Hour)), Annotations: map[string]string{}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &spec}, Status: appsv1.ReplicaSetStatus{Replicas: status, AvailableReplicas: status},
	}
	for i := 0; i+1 < len(annotations); i += 2 {
		s.Annotations[annotations[i]] = annotations[i+1]
	}
	return s
}

func TestNewSize(t *testing.T) {
	for name, tc := range map[string]struct {
		dep  *appsv1.Deployment
		old  *appsv1.ReplicaSet
		new  *appsv1.ReplicaSet
		want int32
	}{
		"nothing yet":                       {dep(3, 1, 0), nil, nil, 3},
		"the surge alone":                   {dep(3, 1, 0), rs("old", 1, 3, 3), nil, 1},
		"full":                              {dep(3, 1, 0), rs("old", 1, 3, 3), rs("new", 0, 1, 1), 1},
		"room as old ones go":               {dep(3, 1, 0), rs("old", 1, 1, 1), rs("new", 0, 1, 1), 3},
		"pods that still have to go":        {dep(3, 1, 0), rs("old", 1, 1, 3), rs("new", 0, 1, 1), 1},
		"never more than wanted":            {dep(3, 3, 0), rs("old", 1, 0, 0), rs("new", 0, 2, 2), 3},
		"all at once where it may surge so": {dep(4, 4, 0), rs("old", 1, 4, 4), nil, 4},
	} {
		if got := newSize(tc.dep, []*appsv1.ReplicaSet{tc.old, tc.new}, tc.new); tc.old != nil && got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestProportional(t *testing.T) {
	annotated := func(max string) []string { return []string{maxReplicasAnnotation, max} }
	for name, tc := range map[string]struct {
		dep  *appsv1.Deployment
		sets []*appsv1.ReplicaSet
		want map[string]int32
	}{
		"twice the size": {dep(20, 0, 1), []*appsv1.ReplicaSet{rs("old", 1, 6, 6, annotated("10")...), rs("new", 0, 4, 4, annotated("10")...)},
			map[string]int32{"old": 12, "new": 8}},
		"half the size": {dep(5, 0, 1), []*appsv1.ReplicaSet{rs("old", 1, 6, 6, annotated("10")...), rs("new", 0, 4, 4, annotated("10")...)},
			map[string]int32{"old": 3, "new": 2}},
		"the rest goes to the largest": {dep(6, 0, 1), []*appsv1.ReplicaSet{rs("a", 2, 1, 1, annotated("5")...), rs("b", 1, 2, 2, annotated("5")...), rs("c", 0, 2, 2, annotated("5")...)},
			map[string]int32{"a": 1, "b": 2, "c": 3}},
		"to nothing": {dep(0, 0, 1), []*appsv1.ReplicaSet{rs("old", 1, 3, 3, annotated("5")...), rs("new", 0, 2, 2, annotated("5")...)},
			map[string]int32{"old": 0, "new": 0}},
		"as it is": {dep(5, 0, 1), []*appsv1.ReplicaSet{rs("old", 1, 3, 3, annotated("5")...), rs("new", 0, 2, 2, annotated("5")...)},
			map[string]int32{"old": 3, "new": 2}},
	} {
		got := proportional(tc.dep, tc.sets)
		total := int32(0)
		for set, want := range tc.want {
			if got[set] != want {
				t.Errorf("%s: %s has %d, want %d", name, set, got[set], want)
			}
			total += got[set]
		}
		if want := replicasOf(tc.dep) + surgeOf(tc.dep); replicasOf(tc.dep) > 0 && total != want {
			t.Errorf("%s: %d in all, want %d", name, total, want)
		}
	}
}

func TestTemplatesAreComparedWithoutTheirHash(t *testing.T) {
	a := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}
	b := a.DeepCopy()
	b.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "x"
	if !sameTemplate(a, b) {
		t.Error("the hash label tells templates apart")
	}
	b.Labels["app"] = "other"
	if sameTemplate(a, b) {
		t.Error("different templates are the same")
	}
}

func TestHashIsStableAndSalted(t *testing.T) {
	template := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"b": "2", "a": "1"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	first, err := templateHash(template, nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if again, _ := templateHash(template.DeepCopy(), nil); again != first {
			t.Fatalf("hashed to %s and %s", first, again)
		}
	}
	if salted, _ := templateHash(template, ptr.To[int32](1)); salted == first {
		t.Error("a collision does not change the hash")
	}
}

func TestRevisionsGoIntoTheHistory(t *testing.T) {
	d := dep(1, 1, 1)
	d.Annotations = map[string]string{"kubernetes.io/change-cause": "why", revisionAnnotation: "7", corev1.LastAppliedConfigAnnotation: "{}"}
	s := rs("a", 1, 1, 1, revisionAnnotation, "2", revisionHistoryAnnotation, "1")
	if !annotate(d, s, 5) {
		t.Error("nothing changed")
	}
	for name, want := range map[string]string{revisionAnnotation: "5", revisionHistoryAnnotation: "1,2", "kubernetes.io/change-cause": "why", corev1.LastAppliedConfigAnnotation: ""} {
		if s.Annotations[name] != want {
			t.Errorf("annotation %s is %q, want %q", name, s.Annotations[name], want)
		}
	}
	if annotate(d, s, 5) || annotate(d, s, 3) {
		t.Error("an annotated ReplicaSet is changed again")
	}
}
