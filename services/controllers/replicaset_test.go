package controllers

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/apiclient/apitest"
)

func TestReplicaSetScalesUpHealsAndScalesDown(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run("replicaset-controller")
	must(c.client.ReplicaSets("default").Create(c.ctx, set(7)))
	available := func(n int32) func() bool {
		return func() bool {
			rs := c.replicaSets()[0]
			return rs.Status.AvailableReplicas == n && rs.Status.Replicas == n && rs.Status.ObservedGeneration == rs.Generation && len(c.pods(nil)) == int(n)
		}
	}
	c.until("7 pods are available", available(7))
	if n := len(c.server.Calls("Pod", "Create")); n != 7 {
		t.Errorf("%d pods were created for 7 replicas", n)
	}
	victim := c.pods(nil)[0]
	if err := c.client.Pods("default").Delete(c.ctx, victim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("the pod is replaced", func() bool {
		return available(7)() && !slices.ContainsFunc(c.pods(nil), func(p *corev1.Pod) bool { return p.Name == victim.Name })
	})
	for {
		rs := c.replicaSets()[0]
		rs.Spec.Replicas = ptr.To[int32](2)
		_, err := c.client.ReplicaSets("default").Update(c.ctx, rs)
		if err == nil {
			break
		}
		if !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
	c.until("2 pods are left", available(2))
	c.until("events tell it", func() bool {
		return len(c.eventMessages("SuccessfulCreate")) == 8 && len(c.eventMessages("SuccessfulDelete")) == 5
	})
	p := c.pods(nil)[0]
	if ref := metav1.GetControllerOf(p); ref == nil || ref.Kind != "ReplicaSet" || ref.Name != "web" || !*ref.BlockOwnerDeletion {
		t.Errorf("controller reference %+v", ref)
	}
}

func TestReplicaSetAdoptsAndReleases(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	pod := func(name string) *corev1.Pod {
		return must(c.client.Pods("default").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}, Spec: template("web:1").Spec}))
	}
	pod("orphan")
	must(c.client.ReplicaSets("default").Create(c.ctx, set(2)))
	c.run("replicaset-controller")
	c.until("the orphan is adopted and one pod made", func() bool {
		return len(c.pods(nil)) == 2 && !slices.ContainsFunc(c.pods(nil), func(p *corev1.Pod) bool { return metav1.GetControllerOf(p) == nil })
	})
	patch := []byte(`{"metadata":{"labels":{"app":"debug"}}}`)
	must(c.client.Pods("default").Patch(c.ctx, "orphan", "application/merge-patch+json", patch, ""))
	c.until("it is released and replaced", func() bool {
		p := must(c.client.Pods("default").Get(c.ctx, "orphan"))
		return metav1.GetControllerOf(p) == nil && len(c.pods(nil)) == 3
	})
}

func TestReplicaSetReportsFailure(t *testing.T) {
	c := newCluster(t)
	var refuse atomic.Bool
	refuse.Store(true)
	c.server.Before = func(call apitest.Call) error {
		if call.Kind == "Pod" && call.Method == "Create" && refuse.Load() {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, call.Name, errors.New("exceeded quota"))
		}
		return nil
	}
	c.run("replicaset-controller")
	must(c.client.ReplicaSets("default").Create(c.ctx, set(500)))
	c.until("the failure shows", func() bool {
		s := c.replicaSets()[0].Status
		return len(s.Conditions) == 1 && s.Conditions[0].Reason == "FailedCreate"
	})
	refuse.Store(false)
	c.until("it is over", func() bool { return len(c.replicaSets()[0].Status.Conditions) == 0 && len(c.pods(nil)) == 500 })
}

// A create whose answer is lost must not be done again.
func TestReplicaSetCountsCreatesOfUnknownOutcome(t *testing.T) {
	c := newCluster(t)
	var lost atomic.Int32
	c.server.After = func(call apitest.Call) error {
		if call.Kind == "Pod" && call.Method == "Create" && lost.Add(1) <= 3 {
			return apierrors.NewServiceUnavailable("the connection broke")
		}
		return nil
	}
	c.run("replicaset-controller")
	must(c.client.ReplicaSets("default").Create(c.ctx, set(10)))
	c.until("10 pods are counted", func() bool { return c.replicaSets()[0].Status.Replicas == 10 })
	if n := len(c.server.Calls("Pod", "Create")); n != 10 {
		t.Errorf("%d pods were created for 10 replicas", n)
	}
}

// A controller that is started again, with a set half made, makes the rest and no more.
func TestReplicaSetGoesOnAfterRestart(t *testing.T) {
	c := newCluster(t)
	must(c.client.ReplicaSets("default").Create(c.ctx, set(50)))
	stop := c.run("replicaset-controller")
	c.until("some pods are made", func() bool { return len(c.pods(nil)) >= 3 })
	stop()
	c.run("replicaset-controller")
	c.until("all are", func() bool { return c.replicaSets()[0].Status.Replicas == 50 })
	if n := len(c.pods(nil)); n != 50 {
		t.Errorf("%d pods for 50 replicas", n)
	}
}
