package agent

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/nodeapi/memory"
	"github.com/orrery-io/orrery/services/node/nodestatus"
	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/simulated"
)

// fixture is an agent over simulated containers and an in-memory api.
type fixture struct {
	t       *testing.T
	ctx     context.Context
	api     *memory.API
	runtime *simulated.Runtime
	stop    func()
}

func newFixture(t *testing.T) *fixture {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	f := &fixture{t: t, ctx: ctx, api: memory.New(), runtime: simulated.New(clock.RealClock{}, netip.MustParsePrefix("10.1.0.0/24"))}
	t.Cleanup(func() { f.stop(); cancel() })
	f.start()
	return f
}

// start runs an agent; stop ends it and waits.
func (f *fixture) start() {
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	ctx, cancel := context.WithCancel(f.ctx)
	source := NewSource(f.api, "n1", logger)
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("110")}
	a := New(Config{API: f.api, Runtime: f.runtime, Host: podconfig.Host{NodeName: "n1", NodeIPs: []string{"192.0.2.1"}, Allocatable: capacity}, Pods: source,
		Node: nodestatus.Config{IPs: []string{"192.0.2.1"}, PodCIDR: "10.1.0.0/24", Capacity: capacity, Allocatable: capacity}, Version: "v1.37.2", Clock: clock.RealClock{}, Logger: logger})
	done := make(chan struct{})
	go func() { defer close(done); _ = source.Run(ctx) }()
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	f.stop = func() {
		cancel()
		<-done
		if err := <-result; err != nil {
			f.t.Errorf("the agent ended with %v", err)
		}
		f.stop = func() {}
	}
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Generation: 1}, Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways,
		Containers: []corev1.Container{{Name: "main", Image: "nginx:1.27", ImagePullPolicy: corev1.PullIfNotPresent}}}}
	for _, f := range change {
		f(p)
	}
	return p
}

// until waits for the pod to be as wanted and returns it.
func (f *fixture) until(name, what string, check func(*corev1.Pod) bool) *corev1.Pod {
	f.t.Helper()
	var last *corev1.Pod
	err := f.api.Wait(f.ctx, func() bool {
		p, err := f.api.Pod(f.ctx, "default", name)
		if err == nil {
			last = p
		}
		return err == nil && check(p)
	})
	if err != nil {
		f.t.Fatalf("pod %s is not %s: %+v; events %q", name, what, last, f.api.Events(name))
	}
	return last
}

func ready(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func running(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && ready(p) }

func (f *fixture) gone(name string) {
	f.t.Helper()
	if err := f.api.Wait(f.ctx, func() bool { _, err := f.api.Pod(f.ctx, "default", name); return apierrors.IsNotFound(err) }); err != nil {
		f.t.Fatalf("pod %s is still there", name)
	}
}

func (f *fixture) delete(name string) {
	f.t.Helper()
	if err := f.api.DeletePod(f.ctx, "default", name, metav1.DeleteOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// containers lists the runtime's containers of a name, running ones only.
func (f *fixture) containers(name string) []string {
	f.t.Helper()
	list, err := f.runtime.ListContainers(f.ctx, map[string]string{cri.LabelContainerName: name})
	if err != nil {
		f.t.Fatal(err)
	}
	var ids []string
	for _, c := range list {
		if c.State == 1 {
			ids = append(ids, c.Id)
		}
	}
	return ids
}

func TestPodRunsAndIsDeleted(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web"))
	p := f.until("web", "running", running)
	s := p.Status.ContainerStatuses[0]
	if p.Status.PodIP == "" || p.Status.HostIP != "192.0.2.1" || p.Status.StartTime == nil || p.Status.QOSClass != corev1.PodQOSBestEffort || p.Status.ObservedGeneration != 1 {
		t.Errorf("status %+v", p.Status)
	}
	if !s.Ready || s.Started == nil || !*s.Started || s.RestartCount != 0 || !strings.HasPrefix(s.ContainerID, "containerd://") || s.ImageID == "" {
		t.Errorf("container status %+v", s)
	}
	f.delete("web")
	f.gone("web")
	if left := f.containers("main"); len(left) > 0 {
		t.Errorf("containers left: %v", left)
	}
	for _, want := range []string{`Pulling: Pulling image "nginx:1.27"`, "Created: Container created", "Started: Container started", "Killing: Stopping container main"} {
		if err := f.api.Wait(f.ctx, func() bool { return slices.Contains(f.api.Events("web"), want) }); err != nil {
			t.Errorf("no event %q in %q", want, f.api.Events("web"))
		}
	}
}

func TestNodeIsRegisteredWithLease(t *testing.T) {
	f := newFixture(t)
	err := f.api.Wait(f.ctx, func() bool {
		n, err := f.api.Node(f.ctx, "n1")
		lease, leaseErr := f.api.Lease(f.ctx, "n1")
		return err == nil && leaseErr == nil && n.Spec.PodCIDR == "10.1.0.0/24" && n.Labels[corev1.LabelHostname] == "n1" && *lease.Spec.HolderIdentity == "n1" &&
			slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
				return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && c.Reason == "KubeletReady"
			})
	})
	if err != nil {
		n, _ := f.api.Node(f.ctx, "n1")
		t.Errorf("node %+v", n)
	}
}

func TestAgentRestartRestartsNoContainer(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web"))
	before := f.until("web", "running", running).Status.ContainerStatuses[0].ContainerID
	f.stop()
	f.start()
	f.api.Put(pod("other"))
	f.until("other", "running", running)
	after := f.until("web", "running", running).Status.ContainerStatuses[0]
	if after.ContainerID != before || after.RestartCount != 0 {
		t.Errorf("container %s with %d restarts, was %s", after.ContainerID, after.RestartCount, before)
	}
}

func TestPodDeletedWhileAgentWasAwayIsEnded(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web"))
	f.until("web", "running", running)
	f.stop()
	zero := int64(0)
	if err := f.api.DeletePod(f.ctx, "default", "web", metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
		t.Fatal(err)
	}
	f.start()
	for len(f.containers("main")) > 0 {
		if f.ctx.Err() != nil {
			t.Fatal("the orphan still runs")
		}
	}
}

func TestApiAwayLeavesContainersRunning(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web"))
	f.until("web", "running", running)
	f.api.SetAway(true)
	id := f.containers("main")[0]
	// A container that ends while the api is away is started again all the same.
	f.runtime.Exit(id, 1)
	for {
		ids := f.containers("main")
		if len(ids) == 1 && ids[0] != id {
			break
		}
		if f.ctx.Err() != nil {
			t.Fatal("the container was not restarted")
		}
	}
	f.api.SetAway(false)
	f.until("web", "shown as restarted", func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses[0]
		return s.RestartCount == 1 && s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.ExitCode == 1
	})
}

func TestCrashLoopBacksOff(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web"))
	f.until("web", "running", running)
	f.runtime.Exit(f.containers("main")[0], 3)
	f.until("web", "restarted", func(p *corev1.Pod) bool { return running(p) && p.Status.ContainerStatuses[0].RestartCount == 1 })
	f.runtime.Exit(f.containers("main")[0], 3)
	p := f.until("web", "backing off", func(p *corev1.Pod) bool {
		w := p.Status.ContainerStatuses[0].State.Waiting
		return w != nil && w.Reason == "CrashLoopBackOff"
	})
	s := p.Status.ContainerStatuses[0]
	if want := "back-off 10s restarting failed container=main pod=web_default(" + string(p.UID) + ")"; s.State.Waiting.Message != want {
		t.Errorf("message %q, want %q", s.State.Waiting.Message, want)
	}
	if s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 3 || p.Status.Phase != corev1.PodRunning || ready(p) {
		t.Errorf("status %+v", p.Status)
	}
}

func TestBadImageBacksOff(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "nginx:doesnotexist" }))
	waiting := func(reason string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool {
			return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == reason
		}
	}
	f.until("web", "ErrImagePull", waiting("ErrImagePull"))
	p := f.until("web", "ImagePullBackOff", waiting("ImagePullBackOff"))
	if p.Status.Phase != corev1.PodPending {
		t.Errorf("phase %s", p.Status.Phase)
	}
	f.delete("web")
	f.gone("web")
}

func TestJobPodSucceedsAndKeepsItsContainer(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("job", func(p *corev1.Pod) { p.Spec.RestartPolicy = corev1.RestartPolicyNever }))
	f.until("job", "running", running)
	f.runtime.Exit(f.containers("main")[0], 0)
	p := f.until("job", "succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if end := p.Status.ContainerStatuses[0].State.Terminated; end == nil || end.Reason != "Completed" || ready(p) || p.Status.PodIP == "" {
		t.Errorf("status %+v", p.Status)
	}
	if list, _ := f.runtime.ListContainers(f.ctx, nil); len(list) != 1 {
		t.Errorf("%d containers, want the ended one", len(list))
	}
}

func TestInitContainersRunInOrder(t *testing.T) {
	f := newFixture(t)
	always := corev1.ContainerRestartPolicyAlways
	f.api.Put(pod("web", func(p *corev1.Pod) {
		p.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
		p.Spec.InitContainers = []corev1.Container{{Name: "one", Image: "i"}, {Name: "side", Image: "i", RestartPolicy: &always}, {Name: "two", Image: "i"}}
	}))
	runs := func(list func(*corev1.Pod) []corev1.ContainerStatus, i int) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool { return len(list(p)) > i && list(p)[i].State.Running != nil }
	}
	inits := func(p *corev1.Pod) []corev1.ContainerStatus { return p.Status.InitContainerStatuses }
	p := f.until("web", "running its first init container", runs(inits, 0))
	if p.Status.Phase != corev1.PodPending || len(f.containers("side")) > 0 {
		t.Errorf("phase %s", p.Status.Phase)
	}
	f.runtime.Exit(f.containers("one")[0], 0)
	f.until("web", "running its second init container", runs(inits, 2))
	if len(f.containers("side")) != 1 || len(f.containers("main")) != 0 {
		t.Error("want the sidecar to run and the main container to wait")
	}
	f.runtime.Exit(f.containers("two")[0], 0)
	f.until("web", "running", running)
	// When the main container has ended, the sidecar is ended too.
	f.runtime.Exit(f.containers("main")[0], 0)
	f.until("web", "succeeded", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	if len(f.containers("side")) != 0 {
		t.Error("the sidecar outlives the pod")
	}
}

func TestMissingConfigMapIsToldAndWaitedFor(t *testing.T) {
	f := newFixture(t)
	f.api.Put(pod("web", func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	}))
	p := f.until("web", "waiting", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) == 1 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == "CreateContainerConfigError"
	})
	if m := p.Status.ContainerStatuses[0].State.Waiting.Message; m != `configmaps "settings" not found` {
		t.Errorf("message %q", m)
	}
	f.api.Put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: "default"}, Data: map[string]string{"A": "1"}})
	f.until("web", "running", running)
}

func TestWorkBelongsToTheTraceOfTheWriteBehindIt(t *testing.T) {
	spans, restore := telemetry.InstallMemory()
	defer restore()
	f := newFixture(t)
	// What is there when the agent starts comes without traces.
	f.api.Put(pod("first"))
	f.until("first", "running", running)
	const id = "0af7651916cd43dd8448eb211c80319c"
	f.api.PutTraced(pod("web", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "another:1" }), "00-"+id+"-b7ad6b7169203331-01")
	f.until("web", "running", running)
	if !f.api.WroteStatusIn(id) {
		t.Error("no status write carries the trace")
	}
	f.stop()
	synced := 0
	for _, span := range spans.GetSpans() {
		if span.Name == "node sync pod" && span.SpanContext.TraceID().String() == id {
			synced++
		}
	}
	// One turn starts the sandbox and the pull, another the container.
	if synced < 2 {
		t.Errorf("%d turns in the trace, want at least 2: %v", synced, spans.GetSpans())
	}
}

func TestDeadlineFailsThePod(t *testing.T) {
	f := newFixture(t)
	one := int64(1)
	f.api.Put(pod("slow", func(p *corev1.Pod) { p.Spec.ActiveDeadlineSeconds = &one }))
	p := f.until("slow", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if p.Status.Reason != "DeadlineExceeded" {
		t.Errorf("reason %q", p.Status.Reason)
	}
	f.until("slow", "stopped", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].State.Terminated != nil })
}
