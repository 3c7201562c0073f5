package controllers

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (c *cluster) namespace(name string) {
	c.t.Helper()
	must(c.client.Namespaces().Create(c.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

func TestNamespacesGetTheirServiceAccountAndCertificateAuthority(t *testing.T) {
	c := newCluster(t)
	c.run("serviceaccount-controller", "root-ca-certificate-publisher-controller")
	c.namespace("a")
	there := func() bool {
		_, err := c.client.ServiceAccounts("a").Get(c.ctx, "default")
		cm, cmErr := c.client.ConfigMaps("a").Get(c.ctx, "kube-root-ca.crt")
		return err == nil && cmErr == nil && cm.Data["ca.crt"] == "PEM"
	}
	c.until("both are there", there)
	if err := c.client.ServiceAccounts("a").Delete(c.ctx, "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	cm := must(c.client.ConfigMaps("a").Get(c.ctx, "kube-root-ca.crt"))
	cm.Data["ca.crt"] = "forged"
	must(c.client.ConfigMaps("a").Update(c.ctx, cm))
	c.until("both are right again", there)
}

func (c *cluster) slices() []*discoveryv1.EndpointSlice {
	all, _, err := c.client.EndpointSlices("default").ListAll(c.ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func (c *cluster) readyEndpoints() (n int) {
	for _, s := range c.slices() {
		for _, ep := range s.Endpoints {
			if *ep.Conditions.Ready {
				n++
			}
		}
	}
	return n
}

func TestEndpointSlicesFollowPods(t *testing.T) {
	c := newCluster(t)
	c.run("endpointslice-controller", "replicaset-controller")
	must(c.client.Services("default").Create(c.ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"team": "a"}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, ClusterIP: "10.96.0.9",
			Ports: []corev1.ServicePort{{Name: "www", Port: 80, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}}},
	}))
	c.until("an empty slice says that there are none", func() bool { return len(c.slices()) == 1 && len(c.slices()[0].Endpoints) == 0 })
	c.kubelet()
	must(c.client.ReplicaSets("default").Create(c.ctx, set(3)))
	c.until("3 endpoints are ready", func() bool { return c.readyEndpoints() == 3 && len(c.slices()) == 1 })
	s := c.slices()[0]
	if *s.Ports[0].Port != 8080 || *s.Ports[0].Name != "www" || s.Labels["team"] != "a" || s.AddressType != discoveryv1.AddressTypeIPv4 ||
		metav1.GetControllerOf(s).Name != "web" || s.Endpoints[0].NodeName == nil || s.Endpoints[0].TargetRef.Kind != "Pod" {
		t.Errorf("slice %+v", s)
	}
	c.until("Endpoints show the same", func() bool {
		ep, err := c.client.Endpoints("default").Get(c.ctx, "web")
		return err == nil && len(ep.Subsets) == 1 && len(ep.Subsets[0].Addresses) == 3 && ep.Subsets[0].Ports[0].Port == 8080
	})
	if err := c.client.Services("default").Delete(c.ctx, "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("Endpoints go with the Service", func() bool {
		_, err := c.client.Endpoints("default").Get(c.ctx, "web")
		return apierrors.IsNotFound(err)
	})
}

func TestEndpointSlicesAreSplit(t *testing.T) {
	c := newCluster(t)
	for i := range 250 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i), Labels: map[string]string{"app": "web"}}, Spec: template("x").Spec,
			Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.1.%d.%d", i/200, i%200+1)}}
		must(c.client.Pods("default").Create(c.ctx, pod))
	}
	must(c.client.Services("default").Create(c.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}}}}))
	c.run("endpointslice-controller")
	total := func() (n int) {
		for _, s := range c.slices() {
			n += len(s.Endpoints)
			if len(s.Endpoints) > 100 {
				t.Fatalf("a slice of %d endpoints", len(s.Endpoints))
			}
		}
		return n
	}
	c.until("250 endpoints are in 3 slices", func() bool { return len(c.slices()) == 3 && total() == 250 })
	before := len(c.server.Calls("EndpointSlice", "Update"))
	if err := c.client.Pods("default").Delete(c.ctx, "p7", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.until("one goes", func() bool { return total() == 249 })
	if n := len(c.server.Calls("EndpointSlice", "Update")) - before; n != 1 {
		t.Errorf("one pod's change wrote %d slices", n)
	}
}
