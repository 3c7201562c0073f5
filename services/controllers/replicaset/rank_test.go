package replicaset

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }

// pod is one that nobody wants to lose: on a node, running and ready for a day.
func pod(name string, edit func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: ago(24 * time.Hour)},
		Spec:       corev1.PodSpec{NodeName: "n-" + name},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: ago(24 * time.Hour)}}},
	}
	if edit != nil {
		edit(p)
	}
	return p
}

func TestWhichPodGoes(t *testing.T) {
	good := pod("good", nil)
	for name, worse := range map[string]func(*corev1.Pod){
		"not assigned":             func(p *corev1.Pod) { p.Spec.NodeName = "" },
		"pending":                  func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending },
		"unknown":                  func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown },
		"not ready":                func(p *corev1.Pod) { p.Status.Conditions = nil },
		"cheap to delete":          func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-5"} },
		"ready for a shorter time": func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = ago(time.Minute) },
		"restarted more":           func(p *corev1.Pod) { p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}} },
		"younger":                  func(p *corev1.Pod) { p.CreationTimestamp = ago(time.Minute) },
		"an unreadable cost counts 0": func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.PodDeletionCost: "x"}
			p.CreationTimestamp = ago(time.Minute)
		},
	} {
		bad := pod("zbad", worse)
		for _, order := range [][]*corev1.Pod{{good, bad}, {bad, good}} {
			if got := toDelete(order, order, 1, now); len(got) != 1 || got[0] != bad {
				t.Errorf("%s: %v goes", name, got[0].Name)
			}
		}
	}
}

func TestAPodGoesWhereThereAreMoreOfItsKind(t *testing.T) {
	a, b := pod("a", nil), pod("b", nil)
	related := []*corev1.Pod{a, b, pod("sibling", func(p *corev1.Pod) { p.Spec.NodeName = b.Spec.NodeName })}
	if got := toDelete([]*corev1.Pod{a, b}, related, 1, now); got[0] != b {
		t.Errorf("%s goes", got[0].Name)
	}
}

// Pods of about one age are told apart by uid, so that the order does not depend on that of the list.
func TestAgesAreComparedByMagnitude(t *testing.T) {
	a := pod("a", func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = ago(25 * time.Hour) })
	b := pod("b", nil)
	if got := toDelete([]*corev1.Pod{b, a}, nil, 1, now); got[0] != a {
		t.Errorf("%s goes", got[0].Name)
	}
	if all := toDelete([]*corev1.Pod{b, a}, nil, 5, now); len(all) != 2 || !slices.Contains(all, a) {
		t.Error("asked for more than there are")
	}
}
