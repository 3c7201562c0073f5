package replicaset

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestStatusCountsWhatIsAvailableAndSaysWhenMoreWillBe(t *testing.T) {
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](4), MinReadySeconds: 30,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}}}}}
	ready := func(since time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels = map[string]string{"app": "web"}
			p.Status.Conditions[0].LastTransitionTime = ago(since)
		}
	}
	pods := []*corev1.Pod{pod("old", ready(time.Minute)), pod("new", ready(10*time.Second)), pod("newer", ready(4*time.Second)), pod("never", func(p *corev1.Pod) { p.Status.Conditions = nil })}
	s, next := statusOf(rs, pods, 2, nil, now)
	if s.Replicas != 4 || s.ReadyReplicas != 3 || s.AvailableReplicas != 1 || s.FullyLabeledReplicas != 3 || *s.TerminatingReplicas != 2 || s.ObservedGeneration != 4 {
		t.Errorf("status %+v", s)
	}
	if next != 20*time.Second {
		t.Errorf("the next pod is available in %v, want 20s", next)
	}
}

func TestAFailureIsAConditionUntilItIsOver(t *testing.T) {
	rs := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1)}}
	s, _ := statusOf(rs, nil, 0, errors.New("exceeded quota"), now)
	if len(s.Conditions) != 1 || s.Conditions[0].Reason != "FailedCreate" || s.Conditions[0].Message != "exceeded quota" {
		t.Fatalf("conditions %+v", s.Conditions)
	}
	rs.Status = s
	if s, _ = statusOf(rs, nil, 0, errors.New("another"), now); s.Conditions[0].Message != "exceeded quota" {
		t.Errorf("a failure that goes on changes its condition: %+v", s.Conditions)
	}
	if s, _ = statusOf(rs, []*corev1.Pod{pod("a", nil), pod("b", nil)}, 0, nil, now); s.Conditions != nil {
		t.Errorf("conditions %+v after success", s.Conditions)
	}
}
