package status

import (
	"io"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/nodeapi/memory"
	"github.com/orrery-io/orrery/services/node/podstate"
)

func instance(name string, state podstate.State, exit int32) podstate.Container {
	return podstate.Container{ID: name + "-id", Name: name, SandboxID: "s", State: state, ExitCode: exit, CreatedAt: time.Unix(1, 0)}
}

func TestPhase(t *testing.T) {
	tests := []struct {
		name       string
		policy     corev1.RestartPolicy
		containers []podstate.Container
		waiting    map[string]Waiting
		terminal   bool
		want       corev1.PodPhase
	}{
		{"nothing yet", corev1.RestartPolicyAlways, nil, nil, false, corev1.PodPending},
		{"one of two", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Running, 0)}, nil, false, corev1.PodPending},
		{"both run", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Running, 0), instance("b", podstate.Running, 0)}, nil, false, corev1.PodRunning},
		{"one crashed", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Running, 0), instance("b", podstate.Exited, 1)}, map[string]Waiting{"b": {Reason: "CrashLoopBackOff"}}, false, corev1.PodRunning},
		{"both crashed", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Exited, 1), instance("b", podstate.Exited, 1)}, nil, false, corev1.PodRunning},
		{"both done", corev1.RestartPolicyNever, []podstate.Container{instance("a", podstate.Exited, 0), instance("b", podstate.Exited, 0)}, nil, false, corev1.PodSucceeded},
		{"one failed", corev1.RestartPolicyNever, []podstate.Container{instance("a", podstate.Exited, 0), instance("b", podstate.Exited, 2)}, nil, false, corev1.PodFailed},
		{"one failed, runs again", corev1.RestartPolicyOnFailure, []podstate.Container{instance("a", podstate.Exited, 0), instance("b", podstate.Exited, 2)}, nil, false, corev1.PodRunning},
		{"deleted, ended well", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Exited, 0), instance("b", podstate.Exited, 0)}, nil, true, corev1.PodSucceeded},
		{"deleted, killed", corev1.RestartPolicyAlways, []podstate.Container{instance("a", podstate.Exited, 0), instance("b", podstate.Exited, 137)}, nil, true, corev1.PodFailed},
		{"deleted before it began", corev1.RestartPolicyAlways, nil, nil, true, corev1.PodFailed},
	}
	for _, test := range tests {
		pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: test.policy, Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}}
		s := Generate(Input{Pod: pod, State: &podstate.Pod{Containers: test.containers}, Waiting: test.waiting, Terminal: test.terminal, Now: time.Unix(100, 0)})
		if s.Phase != test.want {
			t.Errorf("%s: %s, want %s", test.name, s.Phase, test.want)
		}
	}
}

func TestConditionsSayWhyAndKeepTheirTime(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i"}}, Containers: []corev1.Container{{Name: "a"}},
		ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "example.com/gate"}}}}
	find := func(kind corev1.PodConditionType) corev1.PodCondition {
		for _, c := range pod.Status.Conditions {
			if c.Type == kind {
				return c
			}
		}
		t.Fatalf("no condition %s", kind)
		return corev1.PodCondition{}
	}
	state := &podstate.Pod{Sandboxes: []podstate.Sandbox{{ID: "s", Ready: true, IPs: []string{"10.0.0.1"}}}}
	pod.Status = Generate(Input{Pod: pod, State: state, Now: time.Unix(100, 0)})
	if c := find(corev1.PodInitialized); c.Status != corev1.ConditionFalse || c.Message != "containers with incomplete status: [i]" {
		t.Errorf("%+v", c)
	}
	if c := find(corev1.ContainersReady); c.Message != "containers with unready status: [a]" || c.ObservedGeneration != 3 {
		t.Errorf("%+v", c)
	}
	state.Containers = []podstate.Container{instance("a", podstate.Running, 0), instance("i", podstate.Exited, 0)}
	pod.Status = Generate(Input{Pod: pod, State: state, Now: time.Unix(200, 0)})
	if c := find(corev1.ContainersReady); c.Status != corev1.ConditionTrue || c.LastTransitionTime.Unix() != 200 {
		t.Errorf("%+v", c)
	}
	if c := find(corev1.PodReady); c.Status != corev1.ConditionFalse || c.Reason != "ReadinessGatesNotReady" || c.Message != `corresponding condition of pod readiness gate "example.com/gate" does not exist.` {
		t.Errorf("%+v", c)
	}
	if c := find(corev1.PodReadyToStartContainers); c.Status != corev1.ConditionTrue || c.LastTransitionTime.Unix() != 100 {
		t.Errorf("%+v", c)
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "example.com/gate", Status: corev1.ConditionTrue})
	next := Generate(Input{Pod: pod, State: state, Now: time.Unix(300, 0)})
	pod.Status = Merge(&pod.Status, &next)
	if c := find(corev1.PodReady); c.Status != corev1.ConditionTrue {
		t.Errorf("%+v", c)
	}
	if c := find("example.com/gate"); c.Status != corev1.ConditionTrue {
		t.Errorf("somebody else's condition was lost: %+v", c)
	}
}

func TestWriterOvercomesConflictsAndSkipsWhatIsWritten(t *testing.T) {
	api := memory.New()
	api.Put(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d"}})
	stale, err := api.Pod(t.Context(), "d", "p")
	if err != nil {
		t.Fatal(err)
	}
	changed := stale.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	changed.Status.Conditions = []corev1.PodCondition{{Type: "theirs", Status: corev1.ConditionTrue}}
	api.Put(changed)
	w := NewWriter(api, clock.RealClock{}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	defer w.Close()
	status := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	w.Set(t.Context(), stale, status)
	<-w.Settled(stale.UID)
	got, err := api.Pod(t.Context(), "d", "p")
	if err != nil || got.Status.Phase != corev1.PodRunning || len(got.Status.Conditions) != 2 || got.Labels["a"] != "b" {
		t.Fatalf("%+v, %v", got, err)
	}
	w.Set(t.Context(), got, status)
	<-w.Settled(stale.UID)
	if again, _ := api.Pod(t.Context(), "d", "p"); again.ResourceVersion != got.ResourceVersion {
		t.Error("an unchanged status was written again")
	}
	zero := int64(0)
	if err := api.DeletePod(t.Context(), "d", "p", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	status.Phase = corev1.PodFailed
	w.Set(t.Context(), got, status)
	<-w.Settled(stale.UID) // a pod that is gone does not hold anybody up
}
