package queue_test

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/plugins"
	"github.com/orrery-io/orrery/services/scheduler/queue"
)

func setUp(t *testing.T) (*queue.Queue, *clocktesting.FakeClock) {
	t.Helper()
	clk := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	f, err := framework.New(clk, plugins.Default(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	return queue.New(f, clk), clk
}

func waiting(name string, priority int32) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{Priority: &priority}}
}

func pop(t *testing.T, q *queue.Queue) *queue.Item {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	item, err := q.Pop(ctx)
	if err != nil {
		t.Fatal("nothing to pop: ", err)
	}
	return item
}

func empty(t *testing.T, q *queue.Queue) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if item, err := q.Pop(ctx); err == nil {
		t.Fatalf("popped %s, want nothing", item.Pod.Name)
	}
}

func TestHigherPriorityFirst(t *testing.T) {
	q, _ := setUp(t)
	ctx := context.Background()
	q.Set(ctx, waiting("low", 1), "")
	q.Set(ctx, waiting("high", 10), "")
	if first := pop(t, q).Pod.Name; first != "high" {
		t.Errorf("popped %s first", first)
	}
}

func TestRejectedPodSleepsUntilAnEventThatMatters(t *testing.T) {
	q, clk := setUp(t)
	ctx := context.Background()
	q.Set(ctx, waiting("p", 0), "")
	q.Retry(ctx, pop(t, q), []string{"NodeResourcesFit"})
	clk.Step(time.Minute)
	empty(t, q)
	q.Move(ctx, framework.NodeUpdateTaint)
	empty(t, q)
	q.Move(ctx, framework.AssignedPodDelete)
	if item := pop(t, q); item.Attempts != 2 {
		t.Errorf("attempt %d, want 2", item.Attempts)
	}
}

func TestEventDuringTheTryIsNotMissed(t *testing.T) {
	q, clk := setUp(t)
	ctx := context.Background()
	q.Set(ctx, waiting("p", 0), "")
	item := pop(t, q)
	q.Move(ctx, framework.NodeAdd)
	q.Retry(ctx, item, []string{"NodeResourcesFit"})
	empty(t, q) // in back-off
	clk.Step(queue.InitialBackoff)
	pop(t, q)
}

func TestGatedPodWaitsForItsGates(t *testing.T) {
	q, _ := setUp(t)
	ctx := context.Background()
	gated := waiting("p", 0)
	gated.Generation = 1
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/hold"}}
	q.Set(ctx, gated, "")
	q.Move(ctx, framework.NodeAdd)
	empty(t, q)
	open := gated.DeepCopy()
	open.Spec.SchedulingGates, open.Generation = nil, 2
	q.Set(ctx, open, "")
	pop(t, q)
}

func TestDeletedWhileTriedDoesNotComeBack(t *testing.T) {
	q, clk := setUp(t)
	ctx := context.Background()
	q.Set(ctx, waiting("p", 0), "")
	item := pop(t, q)
	q.Delete(item.Pod.UID)
	q.Retry(ctx, item, nil)
	clk.Step(time.Minute)
	empty(t, q)
}
