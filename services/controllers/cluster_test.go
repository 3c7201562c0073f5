package controllers

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func gone(err error) bool { return apierrors.IsNotFound(err) }

// chain makes a Deployment with everything under it.
func (c *cluster) chain() {
	c.t.Helper()
	must(c.client.Deployments("default").Create(c.ctx, web(3)))
	c.until("it is rolled out", c.rolledOut("web"))
}

func TestGarbageIsCollectedInTheBackground(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run("garbage-collector-controller", "deployment-controller", "replicaset-controller")
	c.chain()
	if err := c.client.Deployments("default").Delete(c.ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("nothing is left", func() bool { return len(c.replicaSets()) == 0 && len(c.pods(nil)) == 0 })
}

func TestForegroundDeletionTakesTheOwnerLast(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run("garbage-collector-controller", "deployment-controller", "replicaset-controller")
	c.chain()
	if err := c.client.Deployments("default").Delete(c.ctx, "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationForeground)}); err != nil {
		t.Fatal(err)
	}
	c.until("the owner is gone", func() bool {
		_, err := c.client.Deployments("default").Get(c.ctx, "web")
		if gone(err) && len(c.replicaSets())+len(c.pods(nil)) > 0 {
			t.Error("the owner went before what it owned")
		}
		if len(c.replicaSets()) == 0 && len(c.pods(nil)) > 0 {
			t.Error("the ReplicaSet went before its pods")
		}
		return gone(err)
	})
}

func TestOrphansStay(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run("garbage-collector-controller", "deployment-controller", "replicaset-controller")
	c.chain()
	if err := c.client.Deployments("default").Delete(c.ctx, "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationOrphan)}); err != nil {
		t.Fatal(err)
	}
	c.until("the owner is gone", func() bool { _, err := c.client.Deployments("default").Get(c.ctx, "web"); return gone(err) })
	if sets := c.replicaSets(); len(sets) != 1 || len(sets[0].OwnerReferences) != 0 || len(c.pods(nil)) != 3 {
		t.Errorf("left are %d ReplicaSets and %d pods", len(sets), len(c.pods(nil)))
	}
}

func TestOwnersAreToldApart(t *testing.T) {
	c := newCluster(t)
	reference := func(name string, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: types.UID(uid)}
	}
	owned := func(name string, refs ...metav1.OwnerReference) {
		must(c.client.Secrets("default").Create(c.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: refs}}))
	}
	there := must(c.client.ConfigMaps("default").Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "there"}}))
	elsewhere := must(c.client.ConfigMaps("elsewhere").Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}))
	owned("kept", reference("there", string(there.UID)))
	owned("namesake", reference("there", "another-uid"))
	owned("no-owner-left", reference("never", "was"))
	owned("one-owner-left", reference("there", string(there.UID)), reference("never", "was"))
	owned("owner-elsewhere", reference("elsewhere", string(elsewhere.UID)))
	owned("unknown-kind", metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "x", UID: "y"})
	c.run("garbage-collector-controller")
	secret := func(name string) (*corev1.Secret, error) { return c.client.Secrets("default").Get(c.ctx, name) }
	for _, name := range []string{"namesake", "no-owner-left", "owner-elsewhere"} {
		c.until(name+" is collected", func() bool { _, err := secret(name); return gone(err) })
	}
	c.until("the reference to what is gone is removed", func() bool { return len(must(secret("one-owner-left")).OwnerReferences) == 1 })
	for _, name := range []string{"kept", "unknown-kind"} {
		if _, err := secret(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestANamespaceIsEmptiedAndGoes(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.namespace("a")
	c.namespace("b")
	must(c.client.Pods("a").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: template("x").Spec}))
	must(c.client.Secrets("a").Create(c.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}))
	must(c.client.Secrets("b").Create(c.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}))
	must(c.client.ConfigMaps("a").Create(c.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "c", Finalizers: []string{"example.com/held"}}}))
	c.run("namespace-controller")
	if err := c.client.Namespaces().Delete(c.ctx, "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("it says what it waits for", func() bool {
		for _, n := range must(c.client.Namespaces().Get(c.ctx, "a")).Status.Conditions {
			if n.Type == corev1.NamespaceFinalizersRemaining && n.Status == corev1.ConditionTrue {
				return n.Message == "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
			}
		}
		return false
	})
	if _, err := c.client.Secrets("a").Get(c.ctx, "s"); !gone(err) {
		t.Errorf("the secret: %v", err)
	}
	held, err := c.client.ConfigMaps("a").Get(c.ctx, "c")
	if err != nil {
		t.Fatal(err)
	}
	held.Finalizers = nil
	must(c.client.ConfigMaps("a").Update(c.ctx, held))
	c.until("it is gone", func() bool { _, err := c.client.Namespaces().Get(c.ctx, "a"); return gone(err) })
	if _, err := c.client.Secrets("b").Get(c.ctx, "s"); err != nil {
		t.Errorf("a secret in another namespace: %v", err)
	}
}

func (c *cluster) node(name string) {
	n := must(c.client.Nodes().Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	must(c.client.Nodes().UpdateStatus(c.ctx, n))
	now := metav1.NowMicro()
	must(c.client.Leases("kube-node-lease").Create(c.ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{RenewTime: &now}}))
}

func (c *cluster) beat(name string) error {
	l, err := c.client.Leases("kube-node-lease").Get(c.ctx, name)
	if err != nil {
		return err
	}
	now := metav1.NowMicro()
	l.Spec.RenewTime = &now
	_, err = c.client.Leases("kube-node-lease").Update(c.ctx, l)
	return err
}

func TestASilentNodeIsMarkedAndItsPodsTakenOut(t *testing.T) {
	c := newCluster(t)
	c.grace = 300 * time.Millisecond
	c.node("alive")
	c.node("silent")
	for _, on := range []string{"alive", "silent"} {
		must(c.client.Pods("default").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "on-" + on}, Spec: corev1.PodSpec{NodeName: on},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}))
	}
	impatient := must(c.client.Pods("default").Create(c.ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "impatient"}, Spec: corev1.PodSpec{NodeName: "silent",
		Tolerations: []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: ptr.To[int64](0)}}}}))
	go func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for c.ctx.Err() == nil {
			<-tick.C
			_ = c.beat("alive")
		}
	}()
	c.run("node-lifecycle-controller")
	ready := func(name string) corev1.ConditionStatus {
		return must(c.client.Nodes().Get(c.ctx, name)).Status.Conditions[0].Status
	}
	podReady := func(name string) corev1.ConditionStatus {
		return must(c.client.Pods("default").Get(c.ctx, name)).Status.Conditions[0].Status
	}
	c.until("it is marked and given up", func() bool {
		n := must(c.client.Nodes().Get(c.ctx, "silent"))
		return ready("silent") == corev1.ConditionUnknown && n.Status.Conditions[0].Reason == "NodeStatusUnknown" && len(n.Spec.Taints) == 2 &&
			n.Spec.Taints[1].Key == corev1.TaintNodeUnreachable && n.Spec.Taints[1].Effect == corev1.TaintEffectNoExecute
	})
	c.until("its pods are not ready, and the impatient one is deleted", func() bool {
		p, err := c.client.Pods("default").Get(c.ctx, impatient.Name)
		return podReady("on-silent") == corev1.ConditionFalse && (gone(err) || p.DeletionTimestamp != nil)
	})
	if ready("alive") != corev1.ConditionTrue || podReady("on-alive") != corev1.ConditionTrue {
		t.Error("the other node is touched")
	}
	n := must(c.client.Nodes().Get(c.ctx, "silent"))
	n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now()}
	must(c.client.Nodes().UpdateStatus(c.ctx, n))
	c.until("it comes back", func() bool { return len(must(c.client.Nodes().Get(c.ctx, "silent")).Spec.Taints) == 0 })
}

func TestEventsNameTheScaledReplicaSet(t *testing.T) {
	c := newCluster(t)
	c.kubelet()
	c.run(rolloutControllers...)
	c.chain()
	rs := c.replicaSets()[0]
	if rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == "" || rs.Name != "web-"+rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey] {
		t.Errorf("ReplicaSet %s with labels %v", rs.Name, rs.Labels)
	}
	c.until("the event is there", func() bool {
		m := c.eventMessages("ScalingReplicaSet")
		return len(m) == 1 && m[0] == "Scaled up replica set "+rs.Name+" from 0 to 3"
	})
}
