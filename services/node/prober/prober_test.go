package prober

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	testclock "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/events"
	"github.com/orrery-io/orrery/services/node/nodeapi/memory"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// scripted answers probes as the test says and tells of each.
type scripted struct {
	cri.Runtime
	good   atomic.Bool
	probed chan struct{}
}

func (s *scripted) SimulateProbe(ctx context.Context, _ string, _ *corev1.Probe) (bool, string, error) {
	select {
	case s.probed <- struct{}{}:
	case <-ctx.Done():
	}
	return s.good.Load(), "said so", nil
}

type fixture struct {
	t       *testing.T
	clock   *testclock.FakeClock
	runtime *scripted
	manager *Manager
	woken   chan types.UID
}

func newFixture(t *testing.T, c corev1.Container) *fixture {
	f := &fixture{t: t, clock: testclock.NewFakeClock(time.Unix(1000, 0)), runtime: &scripted{probed: make(chan struct{})}, woken: make(chan types.UID, 16)}
	recorder := events.New(memory.New(), "n", f.clock, slog.New(slog.NewTextHandler(io.Discard, nil)))
	f.manager = NewManager(NewChecker(f.runtime), recorder, f.clock, func(uid types.UID) { f.woken <- uid })
	t.Cleanup(f.manager.Close)
	c.Name = "c"
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "u"}, Spec: corev1.PodSpec{Containers: []corev1.Container{c}}}
	f.manager.Sync(pod, &podstate.Pod{UID: "u", Containers: []podstate.Container{{ID: "id", Name: "c", State: podstate.Running, StartedAt: f.clock.Now()}}}, "")
	return f
}

// until lets time pass and probes happen until check is true.
func (f *fixture) until(what string, check func() bool) {
	f.t.Helper()
	for !check() {
		select {
		case <-f.runtime.probed:
		case <-f.woken:
		case <-f.t.Context().Done():
			f.t.Fatalf("never %s", what)
		case <-time.After(time.Millisecond): // everybody waits for the clock
			f.clock.Step(10 * time.Second)
		}
	}
}

func TestReadinessFollowsItsThresholds(t *testing.T) {
	f := newFixture(t, corev1.Container{ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, SuccessThreshold: 2, FailureThreshold: 2}})
	if f.manager.Ready("id") || !f.manager.Started("id") {
		t.Error("before the first probe a container is started but not ready")
	}
	f.runtime.good.Store(true)
	<-f.runtime.probed
	if f.manager.Ready("id") {
		t.Error("ready after one success of two")
	}
	f.until("ready", func() bool { return f.manager.Ready("id") })
	f.runtime.good.Store(false)
	f.until("unready", func() bool { return !f.manager.Ready("id") })
	if _, _, failed := f.manager.Failed("id"); failed {
		t.Error("readiness must not have the container restarted")
	}
}

func TestLivenessWaitsForStartupAndFails(t *testing.T) {
	f := newFixture(t, corev1.Container{StartupProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 5}, LivenessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 1}})
	<-f.runtime.probed
	if f.manager.Started("id") {
		t.Error("started although the startup probe fails")
	}
	if _, _, failed := f.manager.Failed("id"); failed {
		t.Error("the liveness probe did not wait")
	}
	f.runtime.good.Store(true)
	f.until("started", func() bool { return f.manager.Started("id") })
	f.runtime.good.Store(false)
	f.until("failed", func() bool {
		_, name, failed := f.manager.Failed("id")
		return failed && name == "liveness"
	})
}

func TestHTTPCheck(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" || r.Header.Get("User-Agent") != userAgent || r.Header.Get("X") != "y" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	host, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	action := &corev1.HTTPGetAction{Path: "/good", Port: intstr.Parse(port), HTTPHeaders: []corev1.HTTPHeader{{Name: "X", Value: "y"}}}
	target := Target{Container: &corev1.Container{}, PodIP: host}
	if ok, output, err := httpGet(t.Context(), target, action, time.Minute); !ok || err != nil {
		t.Errorf("%q, %v", output, err)
	}
	action.Path = "/bad"
	if ok, output, err := httpGet(t.Context(), target, action, time.Minute); ok || err != nil || output != "HTTP probe failed with statuscode: 500" {
		t.Errorf("%v %q, %v", ok, output, err)
	}
	server.Close()
	if ok, output, err := httpGet(t.Context(), target, action, time.Minute); ok || err != nil || !strings.Contains(output, "connection refused") {
		t.Errorf("%v %q, %v", ok, output, err)
	}
}
