package controllers

import (
	"slices"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
)

var rolloutControllers = []string{"deployment-controller", "replicaset-controller"}

func condition(d *appsv1.Deployment, t appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, c := range d.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return appsv1.DeploymentCondition{}
}

func (c *cluster) rolledOut(name string) func() bool {
	return func() bool {
		d := c.deployment(name)
		s, n := d.Status, *d.Spec.Replicas
		return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == n && s.Replicas == n && s.AvailableReplicas == n &&
			condition(d, appsv1.DeploymentProgressing).Reason == "NewReplicaSetAvailable"
	}
}

// budget watches pods and ReplicaSets and keeps the extremes.
type budget struct {
	mu            sync.Mutex
	most, fewest  int
	ready, active map[string]bool
}

func (c *cluster) watchBudget(fewest int) *budget {
	b := &budget{fewest: fewest, ready: map[string]bool{}, active: map[string]bool{}}
	w := must(c.client.Pods("").Watch(c.ctx, metav1.ListOptions{SendInitialEvents: ptr.To(true)}))
	synced := make(chan struct{})
	go func() {
		initial := true
		for {
			event, err := w.Recv()
			if err != nil {
				return
			}
			if event.Type == watch.Bookmark {
				initial = false
				close(synced)
				continue
			}
			p := event.Object
			b.mu.Lock()
			gone := event.Type == watch.Deleted || p.DeletionTimestamp != nil
			b.active[p.Name] = !gone
			b.ready[p.Name] = !gone && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
			if !initial {
				b.most, b.fewest = max(b.most, count(b.active)), min(b.fewest, count(b.ready))
			}
			b.mu.Unlock()
		}
	}()
	<-synced
	return b
}

func count(m map[string]bool) (n int) {
	for _, v := range m {
		if v {
			n++
		}
	}
	return n
}

func TestDeploymentRollsOutWithinItsBudget(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run(rolloutControllers...)
	d := web(8)
	d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(2)), MaxUnavailable: ptr.To(intstr.FromInt32(1))}
	must(c.client.Deployments("default").Create(c.ctx, d))
	c.until("it is rolled out", c.rolledOut("web"))
	if got := condition(c.deployment("web"), appsv1.DeploymentAvailable); got.Reason != "MinimumReplicasAvailable" || got.Status != corev1.ConditionTrue {
		t.Errorf("condition Available: %+v", got)
	}
	first := c.replicaSets()[0]
	if got := first.Annotations["deployment.kubernetes.io/revision"]; got != "1" {
		t.Errorf("the first ReplicaSet has revision %q", got)
	}

	b := c.watchBudget(8)
	c.change("web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
	c.until("the update is rolled out", c.rolledOut("web"))
	c.until("nothing of the old is left", func() bool { return len(c.pods(nil)) == 8 })
	b.mu.Lock()
	if b.most > 10 || b.fewest < 7 {
		t.Errorf("between %d ready and %d pods, want at least 7 and at most 10", b.fewest, b.most)
	}
	b.mu.Unlock()
	if sets := c.replicaSets(); len(sets) != 2 {
		t.Fatalf("%d ReplicaSets, want 2", len(sets))
	}
	if got := c.deployment("web").Annotations["deployment.kubernetes.io/revision"]; got != "2" {
		t.Errorf("revision %q after the update", got)
	}

	c.change("web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:1" })
	c.until("the first template is back", func() bool {
		rs := must(c.client.ReplicaSets("default").Get(c.ctx, first.Name))
		return c.rolledOut("web")() && rs.Status.AvailableReplicas == 8 && rs.Annotations["deployment.kubernetes.io/revision"] == "3" &&
			rs.Annotations["deployment.kubernetes.io/revision-history"] == "1"
	})
	if sets := c.replicaSets(); len(sets) != 2 {
		t.Errorf("going back made a ReplicaSet of its own: %d", len(sets))
	}
	c.until("events tell the steps", func() bool {
		return slices.Contains(c.eventMessages("ScalingReplicaSet"), "Scaled up replica set "+first.Name+" from 0 to 8")
	})
}

func TestDeploymentRecreates(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run(rolloutControllers...)
	d := web(3)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	must(c.client.Deployments("default").Create(c.ctx, d))
	c.until("it is rolled out", c.rolledOut("web"))
	old := map[string]bool{}
	for _, p := range c.pods(nil) {
		old[p.Name] = true
	}
	mixed := make(chan bool, 1)
	w := must(c.client.Pods("").Watch(c.ctx, metav1.ListOptions{SendInitialEvents: ptr.To(true)}))
	go func() {
		live, seen := map[string]bool{}, false
		for {
			event, err := w.Recv()
			if err != nil {
				mixed <- seen
				return
			}
			live[event.Object.Name] = event.Type != watch.Deleted && event.Type != watch.Bookmark
			var olds, news bool
			for name, l := range live {
				olds, news = olds || l && old[name], news || l && !old[name]
			}
			seen = seen || olds && news
		}
	}()
	c.change("web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
	c.until("the update is rolled out", c.rolledOut("web"))
	w.Close()
	if <-mixed {
		t.Error("old and new pods were there together")
	}
}

func TestDeploymentScalesPausesAndCleansUp(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run(rolloutControllers...)
	d := web(2)
	d.Spec.RevisionHistoryLimit = ptr.To[int32](1)
	must(c.client.Deployments("default").Create(c.ctx, d))
	c.until("it is rolled out", c.rolledOut("web"))
	c.change("web", func(d *appsv1.Deployment) { d.Spec.Paused, d.Spec.Template.Spec.Containers[0].Image = true, "web:2" })
	c.until("the pause is noted", func() bool {
		d := c.deployment("web")
		return condition(d, appsv1.DeploymentProgressing).Reason == "DeploymentPaused" && d.Status.ObservedGeneration == d.Generation
	})
	c.change("web", func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To[int32](5) })
	c.until("it grows while paused", func() bool { return c.deployment("web").Status.AvailableReplicas == 5 })
	if n := len(c.replicaSets()); n != 1 {
		t.Errorf("a paused Deployment made a ReplicaSet: %d", n)
	}
	c.change("web", func(d *appsv1.Deployment) { d.Spec.Paused = false })
	c.until("it goes on", c.rolledOut("web"))
	for _, image := range []string{"web:3", "web:4"} {
		c.change("web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image })
		c.until(image+" is rolled out", c.rolledOut("web"))
	}
	c.until("one old ReplicaSet is kept", func() bool { return len(c.replicaSets()) == 2 })
}

// A ReplicaSet that is deleted is made again.
func TestDeploymentReplacesItsReplicaSet(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run(rolloutControllers...)
	must(c.client.Deployments("default").Create(c.ctx, web(2)))
	c.until("it is rolled out", c.rolledOut("web"))
	old := c.replicaSets()[0]
	if err := c.client.ReplicaSets("default").Delete(c.ctx, old.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("there is another of the same name", func() bool {
		sets := c.replicaSets()
		return len(sets) == 1 && sets[0].Name == old.Name && sets[0].UID != old.UID && sets[0].Status.AvailableReplicas == 2
	})
}

func TestDeploymentFindsAnotherNameOnCollision(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	stop := c.run("deployment-controller")
	must(c.client.Deployments("default").Create(c.ctx, web(1)))
	c.until("the ReplicaSet is there", func() bool { return len(c.replicaSets()) == 1 })
	name := c.replicaSets()[0].Name
	stop()
	// Another application takes the name.
	if err := c.client.ReplicaSets("default").Delete(c.ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	other := set(0)
	other.Name, other.Spec.Selector = name, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
	must(c.client.ReplicaSets("default").Create(c.ctx, other))
	c.run("deployment-controller")
	c.until("the hash is salted", func() bool {
		return ptr.Deref(c.deployment("web").Status.CollisionCount, 0) == 1 && len(c.replicaSets()) == 2
	})
}
