package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/images"
	"github.com/orrery-io/orrery/services/node/agent"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/network"
	"github.com/orrery-io/orrery/services/node/nodeapi/memory"
	"github.com/orrery-io/orrery/services/node/session"
	"github.com/orrery-io/orrery/services/node/session/fakeapi"
)

// machine is a node with real containers over an in-memory api.
type machine struct {
	t       *testing.T
	ctx     context.Context
	api     *memory.API
	service *Service
	runtime cri.Runtime
	// sessions is the api's side of the agent's session.
	sessions *fakeapi.Server
	// stop ends the agent; containers go on.
	stop func()
}

func newMachine(t *testing.T) *machine {
	if os.Geteuid() != 0 {
		t.Skip("containers need root")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	layout, err := filepath.Abs("../../.build/images")
	if err != nil {
		t.Fatal(err)
	}
	if err := images.Build(ctx, images.Options{Out: layout}); err != nil {
		t.Fatal(err)
	}
	registry, err := images.Serve(ctx, layout, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := fakeapi.Start()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "node")
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{t: t, ctx: ctx, api: memory.New(), sessions: sessions, stop: func() {}}
	m.service, err = New(Config{Name: "n1", DataDir: dir, Runtime: RuntimeContainerd, RegistryMirrors: []string{registry.Mirror()}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}.forTest())
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := m.service.subnet()
	if err != nil {
		t.Fatal(err)
	}
	runtime, takeDown, err := m.service.runtime(ctx, subnet)
	if err != nil {
		t.Fatal(err)
	}
	m.runtime = runtime
	t.Cleanup(func() {
		m.stop()
		if err := takeDown(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
		m.nothingLeft(dir)
		registry.Close()
		sessions.Close()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		cancel()
	})
	m.start(subnet)
	return m
}

func (c Config) forTest() Config {
	c.API.Addresses = []string{"127.0.0.1:1"}
	return c
}

func (m *machine) start(subnet netip.Prefix) {
	config, err := m.service.agentConfig(m.runtime, subnet)
	if err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(m.ctx)
	source := agent.NewSource(m.api, "n1", config.Logger)
	config.API, config.Pods = m.api, source
	config.Session = func(ctx context.Context, c session.Config) error {
		c.API = apiclient.Config{Addresses: []string{m.sessions.Address()}}
		return session.Run(ctx, c)
	}
	a := agent.New(config)
	done := make(chan error, 1)
	go func() { _ = source.Run(ctx) }()
	go func() { done <- a.Run(ctx) }()
	m.stop = func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Error(err)
		}
		m.stop = func() {}
	}
}

// nothingLeft looks for what a node leaves outside its folder.
func (m *machine) nothingLeft(dir string) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), dir) {
		m.t.Errorf("mounts are left below %s (%v)", dir, err)
	}
	var missing netlink.LinkNotFoundError
	if _, err := netlink.LinkByName(network.BridgeName(filepath.Join(dir, "containerd"))); !errors.As(err, &missing) {
		m.t.Errorf("the bridge is left: %v", err)
	}
	for _, pattern := range []string{"/sys/fs/cgroup/*" + cgroupRoot(dir), "/sys/fs/cgroup" + cgroupRoot(dir)} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			m.t.Errorf("cgroups are left: %v", left)
		}
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range processes {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), dir) {
			m.t.Errorf("a process is left: %q", line)
		}
	}
}

func (m *machine) until(name, what string, check func(*corev1.Pod) bool) *corev1.Pod {
	m.t.Helper()
	var last *corev1.Pod
	err := m.api.Wait(m.ctx, func() bool {
		p, err := m.api.Pod(m.ctx, "default", name)
		if err == nil {
			last = p
		}
		return err == nil && check(p)
	})
	if err != nil {
		m.t.Fatalf("pod %s is not %s: %+v; events %q", name, what, last.Status, m.api.Events(name))
	}
	return last
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (m *machine) exec(p *corev1.Pod, command string) string {
	m.t.Helper()
	id := strings.TrimPrefix(p.Status.ContainerStatuses[0].ContainerID, "containerd://")
	out, err := m.runtime.ExecSync(m.ctx, id, []string{"sh", "-c", command}, 20*time.Second)
	if err != nil {
		m.t.Fatalf("%s: %v", command, err)
	}
	return string(out.Stdout) + string(out.Stderr)
}

func container(name, image, command string) corev1.Container {
	c := corev1.Container{Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent, TerminationMessagePath: "/dev/termination-log"}
	if command != "" {
		c.Command = []string{"sh", "-c", command}
	}
	return c
}

func object(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: "default", Generation: 1, Labels: map[string]string{"app": name}}
}

func TestRealPod(t *testing.T) {
	m := newMachine(t)
	grace := int64(5)
	m.api.Put(&corev1.ConfigMap{ObjectMeta: object("settings"), Data: map[string]string{"color": "blue"}})
	m.api.Put(&corev1.Secret{ObjectMeta: object("keys"), Data: map[string][]byte{"key": []byte("hidden")}})
	web := container("nginx", "nginx:1.27", "")
	web.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromString("http")}}, PeriodSeconds: 1}
	web.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}
	web.Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}}
	web.Env = []corev1.EnvVar{
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
		{Name: "COLOR", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "color"}}},
		{Name: "TEXT", Value: "$(POD) is $(COLOR)"},
	}
	web.VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}, {Name: "memory", MountPath: "/memory"}, {Name: "settings", MountPath: "/settings"}, {Name: "keys", MountPath: "/keys", ReadOnly: true}}
	p := &corev1.Pod{ObjectMeta: object("web"), Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace,
		InitContainers: []corev1.Container{container("prepare", "busybox:1.36", "echo prepared > /scratch/file")}, Containers: []corev1.Container{web},
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			{Name: "memory", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
			{Name: "keys", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "keys"}}},
		}}}
	p.Spec.InitContainers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
	m.api.Put(p)
	p = m.until("web", "ready", isReady)
	s := p.Status.ContainerStatuses[0]
	if s.Image != "docker.io/library/nginx:1.27" || !strings.HasPrefix(s.ImageID, "docker.io/library/nginx@sha256:") || p.Status.Phase != corev1.PodRunning || p.Status.QOSClass != corev1.PodQOSBurstable {
		t.Errorf("status %+v", p.Status)
	}
	got := m.exec(p, `echo "$TEXT"; cat /scratch/file /settings/color; echo; cat /keys/key; echo; [ "$IP" = "$(hostname -i)" ] && echo same; hostname; mount | grep -c " /memory type tmpfs"`)
	if want := "web is blue\nprepared\nblue\nhidden\nsame\nweb\n1\n"; got != want {
		t.Errorf("in the container: %q, want %q", got, want)
	}
	if page := m.exec(p, "wget -q -O - http://127.0.0.1/"); !strings.Contains(page, "image nginx:1.27") {
		t.Errorf("nginx served %q", page)
	}

	// A main process that dies is noticed and started again.
	m.exec(p, "kill -9 1; kill 1")
	p = m.until("web", "restarted", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount == 1 && isReady(p) })
	if last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated; last == nil {
		t.Errorf("no last state in %+v", p.Status.ContainerStatuses[0])
	}

	// The agent restarts, the container does not.
	id := p.Status.ContainerStatuses[0].ContainerID
	m.stop()
	subnet, err := m.service.subnet()
	if err != nil {
		t.Fatal(err)
	}
	m.start(subnet)
	message := container("talker", "busybox:1.36", "echo out; echo oops >&2; echo told > /dev/termination-log; exit 3")
	m.api.Put(&corev1.Pod{ObjectMeta: object("job"), Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{message}}})
	job := m.until("job", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if end := job.Status.ContainerStatuses[0].State.Terminated; end == nil || end.ExitCode != 3 || end.Reason != "Error" || end.Message != "told\n" {
		t.Errorf("job ended %+v", job.Status.ContainerStatuses[0])
	}
	if p, err := m.api.Pod(m.ctx, "default", "web"); err != nil || p.Status.ContainerStatuses[0].ContainerID != id || !isReady(p) {
		t.Errorf("after the agent's restart: %+v, %v", p.Status.ContainerStatuses, err)
	}

	for _, name := range []string{"web", "job"} {
		if err := m.api.DeletePod(m.ctx, "default", name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"web", "job"} {
		if err := m.api.Wait(m.ctx, func() bool { _, err := m.api.Pod(m.ctx, "default", name); return apierrors.IsNotFound(err) }); err != nil {
			t.Fatalf("pod %s is still there: %q", name, m.api.Events(name))
		}
	}
	if left, err := os.ReadDir(filepath.Join(m.service.config.DataDir, "pods")); err != nil || len(left) > 0 {
		t.Errorf("pod folders left: %v, %v", left, err)
	}
}

// TestRealStreams runs commands and connections through the agent's session.
func TestRealStreams(t *testing.T) {
	m := newMachine(t)
	m.api.Put(&corev1.Pod{ObjectMeta: object("web"), Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: corev1.RestartPolicyAlways, Containers: []corev1.Container{container("nginx", "nginx:1.28", "")}}})
	m.until("web", "ready", isReady)
	open := func(o *nodev1.OpenStream) *fakeapi.Call {
		t.Helper()
		o.Namespace, o.PodName, o.Container = "default", "web", "nginx"
		answer, err := m.sessions.Open(m.ctx, o)
		if err != nil || answer.Call == nil {
			t.Fatalf("refused: %v, %v", answer.Refused, err)
		}
		return answer.Call
	}
	data := func(channel uint32, text string) *nodev1.Frame {
		return &nodev1.Frame{Kind: &nodev1.Frame_Data{Data: &nodev1.Data{Channel: channel, Data: []byte(text)}}}
	}
	call := open(&nodev1.OpenStream{Kind: &nodev1.OpenStream_Exec{Exec: &nodev1.Exec{Command: []string{"sh", "-c", "cat; echo oops >&2; exit 7"}, Stdin: true, Stdout: true, Stderr: true}}})
	for _, frame := range []*nodev1.Frame{data(0, "one "), data(0, "two"), {Kind: &nodev1.Frame_Close{Close: &nodev1.CloseChannel{}}}} {
		if err := call.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	out, end, err := call.ReadAll()
	if err != nil || out[1] != "one two" || out[2] != "oops\n" || end.GetExitCode() != 7 || end.GetReason() != "NonZeroExitCode" {
		t.Errorf("exec: %v, %v, %v", out, end, err)
	}

	call = open(&nodev1.OpenStream{Kind: &nodev1.OpenStream_Exec{Exec: &nodev1.Exec{Command: []string{"sh", "-c", "read x; stty size"}, Stdin: true, Stdout: true, Tty: true}}})
	for _, frame := range []*nodev1.Frame{{Kind: &nodev1.Frame_Resize{Resize: &nodev1.Resize{Width: 99, Height: 33}}}, data(0, "x\n")} {
		if err := call.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	if out, end, err := call.ReadAll(); err != nil || !strings.Contains(out[1], "x") || end.GetExitCode() != 0 {
		t.Errorf("tty: %v, %v, %v", out, end, err)
	}

	call = open(&nodev1.OpenStream{Kind: &nodev1.OpenStream_PortForward{PortForward: &nodev1.PortForward{}}})
	for channel, port := range map[uint32]uint32{0: 80, 1: 81, 2: 80} {
		if err := call.Send(&nodev1.Frame{Kind: &nodev1.Frame_Open{Open: &nodev1.OpenChannel{Channel: channel, Port: port}}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, channel := range []uint32{0, 2} {
		if err := call.Send(data(channel, "GET / HTTP/1.0\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
	}
	pages, failure := map[uint32]string{}, ""
	for closed := 0; closed < 3; {
		frame, err := call.Recv()
		if err != nil {
			t.Fatal(err)
		}
		switch kind := frame.Kind.(type) {
		case *nodev1.Frame_Data:
			pages[kind.Data.Channel] += string(kind.Data.Data)
		case *nodev1.Frame_Close:
			closed++
		case *nodev1.Frame_Error:
			failure = kind.Error.Message
			closed++
		}
	}
	call.Close()
	if !strings.Contains(pages[0], "image nginx:1.28") || !strings.Contains(pages[2], "image nginx:1.28") || !strings.Contains(failure, "81") {
		t.Errorf("port-forward: %v, error %q", pages, failure)
	}
	// An exec that goes on does not keep the agent from ending: the clean-up waits for it.
	open(&nodev1.OpenStream{Kind: &nodev1.OpenStream_Exec{Exec: &nodev1.Exec{Command: []string{"sleep", "1000"}, Stdout: true}}})
}

func TestRealProbesLimitsAndBadImage(t *testing.T) {
	m := newMachine(t)
	grace := int64(1)
	sick := container("sick", "busybox:1.36", "sleep 1000")
	sick.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"false"}}}, PeriodSeconds: 1, FailureThreshold: 2}
	hungry := container("hungry", "busybox:1.36", "x=; while true; do x=$x$x$(head -c 1000000 /dev/zero | tr '\\0' x); done")
	hungry.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("16Mi")}
	bad := container("bad", "nginx:doesnotexist", "")
	for name, c := range map[string]corev1.Container{"sick": sick, "hungry": hungry, "bad": bad} {
		policy := corev1.RestartPolicyAlways
		if name == "hungry" {
			policy = corev1.RestartPolicyNever
		}
		m.api.Put(&corev1.Pod{ObjectMeta: object(name), Spec: corev1.PodSpec{NodeName: "n1", RestartPolicy: policy, TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{c}}})
	}
	m.until("sick", "restarted by its liveness probe", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0
	})
	p := m.until("hungry", "failed", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodFailed })
	if end := p.Status.ContainerStatuses[0].State.Terminated; end.Reason != "OOMKilled" || end.ExitCode != 137 {
		t.Errorf("hungry ended %+v", end)
	}
	m.until("bad", "in ImagePullBackOff", func(p *corev1.Pod) bool {
		return len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == "ImagePullBackOff"
	})
	events := fmt.Sprint(m.api.Events("sick"), m.api.Events("bad"))
	for _, want := range []string{"Unhealthy: Liveness probe failed:", "Killing: Container sick failed liveness probe, will be restarted", `BackOff: Back-off pulling image "nginx:doesnotexist"`, "Failed: Error: ErrImagePull"} {
		if !strings.Contains(events, want) {
			t.Errorf("no event %q in %s", want, events)
		}
	}
}
