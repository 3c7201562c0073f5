package events

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/internal/apiclient/apitest"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: "uid-" + "1", ResourceVersion: "7"}}
}

func newRecorder(sink Sink) (*Recorder, *clocktesting.FakeClock) {
	clock := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	return New(sink, Options{Component: "test", Host: "h", Clock: clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}), clock
}

func TestEventsAreWrittenAndRepeatsCounted(t *testing.T) {
	server := apitest.New(clocktesting.NewFakePassiveClock(time.Now()))
	r, _ := newRecorder(ClientSink(server.Client()))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go func() { _ = r.Run(ctx) }()
	for range 3 {
		r.Event(ctx, pod("p"), corev1.EventTypeWarning, "BackOff", "restarting %s", "c")
	}
	r.For("other").Event(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, corev1.EventTypeNormal, "NodeReady", "ready again")
	var all []*corev1.Event
	err := server.Eventually(ctx, func() bool {
		all, _, _ = server.Client().Events("").ListAll(ctx, metav1.ListOptions{})
		return len(all) == 2 && all[0].Count+all[1].Count == 4
	})
	if err != nil {
		t.Fatalf("events %+v: %v", all, err)
	}
	for _, e := range all {
		switch e.InvolvedObject.Kind {
		case "Pod":
			if e.Namespace != "ns" || e.Count != 3 || e.Message != "restarting c" || e.InvolvedObject.APIVersion != "v1" || e.InvolvedObject.UID != "uid-1" ||
				e.Source.Component != "test" || e.Type != "Warning" || !strings.HasPrefix(e.Name, "p.") {
				t.Errorf("event %+v", e)
			}
		case "Node":
			if e.Namespace != "default" || e.Message != "ready again" || e.Source.Component != "other" || e.ReportingController != "other" {
				t.Errorf("event %+v", e)
			}
		}
	}
}

func TestAFullQueueDropsAndDoesNotBlock(t *testing.T) {
	r, _ := newRecorder(nil)
	for i := range queueSize + 5 {
		r.Event(context.Background(), pod("p"), corev1.EventTypeNormal, "R", "%d", i)
	}
	if n := r.Dropped(); n != 5 {
		t.Errorf("dropped %d, want 5", n)
	}
}

func event(object, message string) *corev1.Event {
	return &corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: object}, Reason: "R", Message: message, Count: 1, Source: corev1.EventSource{Component: "c"}}
}

func TestSimilarEventsAreCombinedAndAnObjectsRateLimited(t *testing.T) {
	_, clock := newRecorder(nil)
	c := newCorrelator(clock)
	written, combined := 0, 0
	for i := range 40 {
		v := c.judge(event("p", fmt.Sprint("message ", i)))
		if v.drop {
			continue
		}
		written++
		if strings.HasPrefix(v.event.Message, "(combined from similar events): ") {
			if combined++; combined > 1 && v.name == "" {
				t.Error("combined events are not counted on one")
			}
		}
		v.event.Name = fmt.Sprint("e", i)
		c.stored(v, v.event)
	}
	if written != burst || combined != burst-maxSimilar {
		t.Errorf("%d written, %d of them combined", written, combined)
	}
	if c.judge(event("another", "message")).drop {
		t.Error("one object's flood silences another")
	}
	clock.Step(refill)
	if c.judge(event("p", "later")).drop {
		t.Error("the object stays silent")
	}
}
