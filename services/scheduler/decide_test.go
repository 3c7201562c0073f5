package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/plugins"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

func node(name, cpu, memory string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status:     corev1.NodeStatus{Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory), "pods": resource.MustParse("110")}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func pod(name, cpu, memory string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx:1.27"}}}}
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests["cpu"] = resource.MustParse(cpu)
	}
	if memory != "" {
		requests["memory"] = resource.MustParse(memory)
	}
	p.Spec.Containers[0].Resources.Requests = requests
	for _, f := range change {
		f(p)
	}
	return p
}

func newTestScheduler(t *testing.T) *Scheduler {
	t.Helper()
	clk := clocktesting.NewFakeClock(metav1.Now().Time)
	f, err := framework.New(clk, plugins.Default(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	return NewScheduler(apiclient.New(nil), f, nil, slog.New(slog.DiscardHandler), clk)
}

func (s *Scheduler) place(p *corev1.Pod, nodes ...*snapshot.NodeInfo) (string, error) {
	return s.decide(context.Background(), framework.NewCycleState(), snapshot.NewPodInfo(p), snapshot.New(nodes...))
}

// People and scripts match on these texts: they are Kubernetes' own.
func TestDecideSaysWhyNoNodeFits(t *testing.T) {
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule}}
	}
	tests := []struct {
		name  string
		pod   *corev1.Pod
		nodes []*corev1.Node
		want  string
	}{
		{"no nodes", pod("p", "1", ""), nil, "no nodes available to schedule pods"},
		{"too much cpu", pod("p", "1000", ""), []*corev1.Node{node("a", "2", "4Gi")}, "0/1 nodes are available: 1 Insufficient cpu."},
		{"both", pod("p", "1000", "1Ti"), []*corev1.Node{node("a", "2", "4Gi")}, "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory."},
		{"reasons are counted", pod("p", "3", ""), []*corev1.Node{node("a", "2", "4Gi"), node("b", "2", "4Gi"), node("c", "8", "4Gi", cordoned), node("d", "8", "4Gi", tainted)},
			"0/4 nodes are available: 1 node(s) had untolerated taint {dedicated: db}, 1 node(s) were unschedulable, 2 Insufficient cpu."},
		{"node selector", pod("p", "1", "", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }), []*corev1.Node{node("a", "2", "4Gi")},
			"0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var infos []*snapshot.NodeInfo
			for _, n := range tt.nodes {
				infos = append(infos, snapshot.NewNodeInfo(n))
			}
			where, err := newTestScheduler(t).place(tt.pod, infos...)
			if err == nil || err.Error() != tt.want {
				t.Errorf("placed on %q with error %q, want %q", where, err, tt.want)
			}
		})
	}
}

func TestDecideSpreadsAControllersPods(t *testing.T) {
	s := newTestScheduler(t)
	owned := func(p *corev1.Pod) {
		yes := true
		p.OwnerReferences = []metav1.OwnerReference{{UID: "rs", Controller: &yes}}
	}
	infos := map[string]*snapshot.NodeInfo{}
	for _, name := range []string{"a", "b", "c"} {
		infos[name] = snapshot.NewNodeInfo(node(name, "8", "16Gi"))
	}
	count := map[string]int{}
	for i := range 9 {
		p := pod(fmt.Sprint("web-", i), "", "", owned)
		where, err := s.place(p, infos["a"], infos["b"], infos["c"])
		if err != nil {
			t.Fatal(err)
		}
		count[where]++
		infos[where] = infos[where].WithPod(snapshot.NewPodInfo(p))
	}
	for name := range infos {
		if count[name] != 3 {
			t.Fatalf("9 pods of one controller on 3 equal nodes: %v, want 3 each", count)
		}
	}
}

func TestDecideHonorsHardSpreading(t *testing.T) {
	spread := func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web"}
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}}}
	}
	full := snapshot.NewNodeInfo(node("a", "8", "16Gi"), pod("x", "", "", spread))
	empty := snapshot.NewNodeInfo(node("b", "1", "16Gi"))
	where, err := newTestScheduler(t).place(pod("p", "", "", spread), full, empty)
	if err != nil || where != "b" {
		t.Errorf("placed on %q (%v), want b", where, err)
	}
	_, err = newTestScheduler(t).place(pod("q", "2", "", spread), full, empty)
	want := "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints."
	var fit *fitError
	if !errors.As(err, &fit) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCacheCountsAnAssumedPodOnce(t *testing.T) {
	c := snapshot.NewCache()
	c.SetNode(node("a", "4", "4Gi"))
	p := pod("p", "1", "")
	if err := c.Assume(snapshot.NewPodInfo(p), "a"); err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot()
	used := func(s *snapshot.Snapshot) int64 {
		n, _ := s.Node("a")
		return n.Requested.MilliCPU
	}
	if used(before) != 1000 {
		t.Fatalf("an assumed pod counts %dm, want 1000m", used(before))
	}
	bound := p.DeepCopy()
	bound.Spec.NodeName = "a"
	c.SetPod(bound)
	c.Forget(p.UID) // the binding's answer was lost, but the watch has confirmed the pod
	if got := used(c.Snapshot()); got != 1000 {
		t.Errorf("the confirmed pod counts %dm, want 1000m", got)
	}
	c.RemovePod(p.UID)
	if used(c.Snapshot()) != 0 || used(before) != 1000 {
		t.Errorf("after removal: new snapshot %dm (want 0), old snapshot %dm (want 1000: it never changes)", used(c.Snapshot()), used(before))
	}
}
