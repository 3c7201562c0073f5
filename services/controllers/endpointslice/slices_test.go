package endpointslice

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/informer"
)

func service(edit func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "ns", UID: "svc"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromString("web"), Protocol: corev1.ProtocolTCP}}}}
	if edit != nil {
		edit(s)
	}
	return s
}

func pod(i int, edit func(*corev1.Pod)) *corev1.Pod {
	name := fmt.Sprintf("p%03d", i)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.%d.%d", i/200, i%200),
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}}
	if edit != nil {
		edit(p)
	}
	return p
}

func pods(n int) (out []*corev1.Pod) {
	for i := range n {
		out = append(out, pod(i, nil))
	}
	return out
}

func desiredOf(svc *corev1.Service, pods []*corev1.Pod) []group {
	e := &endpointSlices{Config: Config{Nodes: informer.New[*corev1.Node]("nodes", nil, informer.Options[*corev1.Node]{})}}
	return e.desired(svc, pods)
}

// apply carries a plan out on a set of slices.
func (p plan) apply(existing []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	byUID := map[types.UID]*discoveryv1.EndpointSlice{}
	for _, s := range existing {
		byUID[s.UID] = s
	}
	for _, s := range p.update {
		byUID[s.UID] = s
	}
	for _, s := range p.remove {
		delete(byUID, s.UID)
	}
	for _, s := range p.create {
		s.UID = types.UID(fmt.Sprint("slice-", len(byUID), "-", len(existing)))
		s.Name = string(s.UID)
		byUID[s.UID] = s
	}
	var out []*discoveryv1.EndpointSlice
	for _, s := range byUID {
		out = append(out, s)
	}
	return out
}

func TestConditions(t *testing.T) {
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }
	unready := func(p *corev1.Pod) { p.Status.Conditions = nil }
	for name, tc := range map[string]struct {
		svc                         func(*corev1.Service)
		pod                         func(*corev1.Pod)
		ready, serving, terminating bool
	}{
		"ready":                    {nil, nil, true, true, false},
		"not ready":                {nil, unready, false, false, false},
		"ready and going":          {nil, deleted, false, true, true},
		"published though unready": {func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }, unready, true, false, false},
	} {
		c := desiredOf(service(tc.svc), []*corev1.Pod{pod(1, tc.pod)})[0].endpoints[0].Conditions
		if *c.Ready != tc.ready || *c.Serving != tc.serving || *c.Terminating != tc.terminating {
			t.Errorf("%s: ready %v serving %v terminating %v", name, *c.Ready, *c.Serving, *c.Terminating)
		}
	}
	for name, edit := range map[string]func(*corev1.Pod){
		"ended":              func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed },
		"without an address": func(p *corev1.Pod) { p.Status.PodIP = "" },
	} {
		if addressable(pod(1, edit)) {
			t.Errorf("a pod %s is an endpoint", name)
		}
	}
}

func TestNamedPortsAreResolvedPodByPod(t *testing.T) {
	other := pod(2, func(p *corev1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 9090 })
	without := pod(3, func(p *corev1.Pod) { p.Spec.Containers[0].Ports = nil })
	groups := desiredOf(service(nil), []*corev1.Pod{pod(1, nil), other, without, pod(4, nil)})
	if len(groups) != 3 || *groups[0].ports[0].Port != 8080 || len(groups[0].endpoints) != 2 || *groups[1].ports[0].Port != 9090 || len(groups[2].ports) != 0 {
		t.Errorf("groups %+v", groups)
	}
	subsets, _ := subsetsOf(service(nil), []*corev1.Pod{pod(1, nil), other, without})
	if len(subsets) != 2 || subsets[0].Ports[0].Port != 8080 || subsets[1].Ports[0].Port != 9090 {
		t.Errorf("subsets %+v", subsets)
	}
}

func TestHostnamesOfAHeadlessService(t *testing.T) {
	svc := service(func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	g := desiredOf(svc, []*corev1.Pod{pod(1, func(p *corev1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "db-0", "web" })})
	if h := g[0].endpoints[0].Hostname; h == nil || *h != "db-0" {
		t.Errorf("hostname %v", h)
	}
	if _, ok := labelsOf(svc)[corev1.IsHeadlessService]; !ok {
		t.Error("a headless Service's slice does not say so")
	}
}

func TestDualStackHasSlicesOfBothFamilies(t *testing.T) {
	svc := service(func(s *corev1.Service) {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	})
	p := pod(1, func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: "10.0.0.1"}, {IP: "fd00::1"}} })
	g := desiredOf(svc, []*corev1.Pod{p})
	if len(g) != 2 || g[0].endpoints[0].Addresses[0] != "fd00::1" || g[1].endpoints[0].Addresses[0] != "10.0.0.1" {
		t.Errorf("groups %+v", g)
	}
}

func TestOneChangeIsOneWrite(t *testing.T) {
	svc, trigger := service(nil), time.Now()
	all := pods(250)
	p := fit(svc, desiredOf(svc, all), nil, trigger)
	if len(p.create) != 3 {
		t.Fatalf("%d slices for 250 endpoints", len(p.create))
	}
	existing := p.apply(nil)
	if p := fit(svc, desiredOf(svc, all), existing, trigger); len(p.create)+len(p.update)+len(p.remove) != 0 {
		t.Errorf("nothing changed and %+v is written", p)
	}
	all[100].Status.Conditions = nil
	p = fit(svc, desiredOf(svc, all), existing, trigger)
	if len(p.update) != 1 || len(p.create)+len(p.remove) != 0 || p.update[0].Annotations[corev1.EndpointsLastChangeTriggerTime] == "" {
		t.Errorf("one pod's change writes %d, %d and %d slices", len(p.create), len(p.update), len(p.remove))
	}
	existing = p.apply(existing)
	all = append(all, pod(900, nil))
	p = fit(svc, desiredOf(svc, all), existing, trigger)
	if len(p.update) != 1 || len(p.create) != 0 || len(p.update[0].Endpoints) != 51 {
		t.Errorf("a new pod does not go where there is room: %+v", p)
	}
	p = fit(svc, desiredOf(svc, nil), p.apply(existing), trigger)
	if left := p.apply(existing); len(left) != 1 || len(left[0].Endpoints) != 0 {
		t.Errorf("%d slices are left for no endpoints", len(left))
	}
}

// A Service that was deleted and made again does not take over the slices of the first, which go with it.
func TestSlicesBelongToOneService(t *testing.T) {
	old := service(func(s *corev1.Service) { s.UID = "old" })
	existing := fit(old, desiredOf(old, pods(1)), nil, time.Time{}).apply(nil)
	p := fit(service(nil), desiredOf(service(nil), pods(1)), existing, time.Time{})
	if len(p.create) != 1 || len(p.remove) != 1 {
		t.Errorf("plan %+v", p)
	}
}
