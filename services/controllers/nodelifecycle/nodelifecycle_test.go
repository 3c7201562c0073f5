package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

func TestStay(t *testing.T) {
	unreachable := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: ptr.To(metav1.NewTime(now.Add(-100 * time.Second)))}
	users := corev1.Taint{Key: "gpu", Value: "no", Effect: corev1.TaintEffectNoExecute}
	tolerate := func(key string, seconds *int64) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: seconds}
	}
	for name, tc := range map[string]struct {
		tolerations []corev1.Toleration
		taints      []corev1.Taint
		left        time.Duration
		forever     bool
	}{
		"says nothing":                     {nil, []corev1.Taint{unreachable}, 200 * time.Second, false},
		"a minute that is over":            {[]corev1.Toleration{tolerate(unreachable.Key, ptr.To[int64](60))}, []corev1.Taint{unreachable}, 0, false},
		"ten minutes":                      {[]corev1.Toleration{tolerate(unreachable.Key, ptr.To[int64](600))}, []corev1.Taint{unreachable}, 500 * time.Second, false},
		"for ever":                         {[]corev1.Toleration{tolerate(unreachable.Key, nil)}, []corev1.Taint{unreachable}, 0, true},
		"everything":                       {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, []corev1.Taint{unreachable, users}, 0, true},
		"a user's taint not tolerated":     {[]corev1.Toleration{tolerate(unreachable.Key, nil)}, []corev1.Taint{unreachable, users}, 0, false},
		"the shorter of two":               {[]corev1.Toleration{tolerate("gpu", ptr.To[int64](50))}, []corev1.Taint{unreachable, users}, 50 * time.Second, false},
		"a limit beside one without limit": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}, tolerate("gpu", ptr.To[int64](50))}, []corev1.Taint{users}, 50 * time.Second, false},
	} {
		left, forever := stay(&corev1.Pod{Spec: corev1.PodSpec{Tolerations: tc.tolerations}}, tc.taints, now)
		if left != tc.left || forever != tc.forever {
			t.Errorf("%s: %v, for ever %v; want %v, %v", name, left, forever, tc.left, tc.forever)
		}
	}
}

func TestTaintsFollowTheNodesState(t *testing.T) {
	n := node("a", corev1.ConditionUnknown)
	n.Spec.Unschedulable = true
	n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue})
	n.Spec.Taints = []corev1.Taint{{Key: "user", Effect: corev1.TaintEffectNoSchedule}, {Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
	wanted, giveUp := wantedTaints(n)
	if giveUp == nil || giveUp.Key != corev1.TaintNodeUnreachable {
		t.Fatalf("gives up by %v", giveUp)
	}
	got := merge(n.Spec.Taints, wanted, now)
	want := []string{"user", corev1.TaintNodeUnreachable, corev1.TaintNodeDiskPressure, corev1.TaintNodeUnschedulable}
	if len(got) != len(want) {
		t.Fatalf("taints %v", got)
	}
	for i, key := range want {
		if got[i].Key != key || key != "user" && got[i].TimeAdded == nil {
			t.Errorf("taint %d is %v, want %s", i, got[i], key)
		}
	}
	if again := merge(got, wanted, now.Add(time.Hour)); !again[1].TimeAdded.Time.Equal(now) {
		t.Error("a taint that stays is dated anew")
	}
	if wanted, giveUp := wantedTaints(node("b", corev1.ConditionTrue)); len(wanted) != 0 || giveUp != nil {
		t.Errorf("a ready node gets %v and %v", wanted, giveUp)
	}
}

func TestNodesAreGivenUpSlowlyOrNotAtAll(t *testing.T) {
	cluster := func(healthy, ill int) (all []*corev1.Node) {
		for i := range healthy {
			all = append(all, node(fmt.Sprint("h", i), corev1.ConditionTrue))
		}
		for i := range ill {
			all = append(all, node(fmt.Sprint("i", i), corev1.ConditionUnknown))
		}
		return all
	}
	ill := node("i0", corev1.ConditionUnknown)
	var z zones
	if w := z.wait(ill, cluster(0, 1), now); w != lookAgain {
		t.Errorf("the only node is given up: %v", w)
	}
	if w := z.wait(ill, cluster(2, 3), now); w != lookAgain {
		t.Errorf("most of a small zone is ill, and one is given up: %v", w)
	}
	if w := z.wait(ill, cluster(9, 1), now); w != 0 {
		t.Errorf("one of ten waits %v", w)
	}
	if w := z.wait(ill, cluster(8, 2), now.Add(time.Second)); w != 9*time.Second {
		t.Errorf("the next one waits %v, want the rest of 10 s", w)
	}
	var large zones
	if w := large.wait(ill, cluster(40, 60), now); w != 0 {
		t.Errorf("the first of a large zone waits %v", w)
	}
	if w := large.wait(ill, cluster(40, 60), now.Add(time.Second)); w != 99*time.Second {
		t.Errorf("a large zone that is mostly ill goes at %v", w)
	}
}

func TestOnlyAHeartbeatThatChangesCounts(t *testing.T) {
	var h health
	n := node("a", corev1.ConditionTrue)
	h.heard("a", "1", now)
	h.heard("a", "1", now.Add(30*time.Second))
	if at := h.since(n, now.Add(time.Minute)); !at.Equal(now.Add(time.Minute)) && !at.Equal(now) {
		t.Errorf("heard at %v", at.Sub(now))
	}
	h.setSilent("a", now)
	if !h.heard("a", "2", now.Add(2*time.Minute)) {
		t.Error("a silent node that is heard again is no news")
	}
	if h.heard("a", "3", now.Add(3*time.Minute)) {
		t.Error("an ordinary heartbeat is news")
	}
	if at := h.since(n, now.Add(time.Hour)); !at.Equal(now.Add(3 * time.Minute)) {
		t.Errorf("heard at %v, want 3m", at.Sub(now))
	}
}
