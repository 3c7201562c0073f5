package session

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/podstate"
	"github.com/orrery-io/orrery/services/node/session/fakeapi"
	"github.com/orrery-io/orrery/services/node/simulated"
)

type fixture struct {
	server *fakeapi.Server
	log    string
	// stop ends the sessions and waits for them.
	stop func()
}

// newFixture has a pod "web" with the running container "main" and a container "late" that has not started.
func newFixture(t *testing.T) *fixture {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	server, err := fakeapi.Start()
	if err != nil {
		t.Fatal(err)
	}
	runtime := simulated.New(clock.RealClock{}, netip.MustParsePrefix("10.1.0.0/24"))
	dir := t.TempDir()
	sandboxConfig := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Uid: "u"}, Labels: map[string]string{cri.LabelPodUID: "u"}, LogDirectory: dir}
	sandbox, err := runtime.RunPodSandbox(ctx, sandboxConfig, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runtime.PullImage(ctx, "i", nil, nil); err != nil {
		t.Fatal(err)
	}
	id, err := runtime.CreateContainer(ctx, sandbox, &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{}, Image: &runtimeapi.ImageSpec{Image: "i"}, LogPath: "0.log",
		Labels: map[string]string{cri.LabelPodUID: "u", cri.LabelContainerName: "main"}}, sandboxConfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.StartContainer(ctx, id); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default", UID: "u"}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = Run(ctx, Config{NodeName: "n1", API: apiclient.Config{Addresses: []string{server.Address()}}, Runtime: runtime, Reader: podstate.NewReader(runtime), Clock: clock.RealClock{},
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Pod: func(_, name string) (*corev1.Pod, bool) { return pod, name == "web" }})
	}()
	f := &fixture{server: server, log: filepath.Join(dir, "0.log"), stop: func() { cancel(); <-done }}
	t.Cleanup(func() { f.stop(); server.Close() })
	return f
}

func (f *fixture) open(t *testing.T, open *nodev1.OpenStream) fakeapi.Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := f.server.Open(ctx, open)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func logsOf(pod, container string, logs *nodev1.Logs) *nodev1.OpenStream {
	return &nodev1.OpenStream{Namespace: "default", PodName: pod, Container: container, Kind: &nodev1.OpenStream_Logs{Logs: logs}}
}

func TestLogsAreSentToTheirEnd(t *testing.T) {
	f := newFixture(t)
	line := "2026-01-01T00:00:00Z stdout F " + strings.Repeat("x", 100_000) + "\n"
	if err := os.WriteFile(f.log, []byte(line+"2026-01-01T00:00:01Z stderr F oops\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	answer := f.open(t, logsOf("web", "main", &nodev1.Logs{}))
	if answer.Call == nil {
		t.Fatalf("refused: %v", answer.Refused)
	}
	out, end, err := answer.Call.ReadAll()
	if err != nil || end.GetMessage() != "" || len(out[1]) != 100_001 || out[2] != "oops\n" {
		t.Errorf("%d bytes, stderr %q, end %v, %v", len(out[1]), out[2], end, err)
	}
}

func TestClientGoingAwayEndsAFollowedLog(t *testing.T) {
	f := newFixture(t)
	answer := f.open(t, logsOf("web", "main", &nodev1.Logs{Follow: true}))
	if answer.Call == nil {
		t.Fatalf("refused: %v", answer.Refused)
	}
	answer.Call.Close()
	// Another is served meanwhile, and the end of the session ends it.
	if answer = f.open(t, logsOf("web", "main", &nodev1.Logs{Follow: true})); answer.Call == nil {
		t.Fatalf("refused: %v", answer.Refused)
	}
	f.stop()
	for {
		if _, err := answer.Call.Recv(); err != nil {
			return
		}
	}
}

func TestWhatCannotBeServedIsRefused(t *testing.T) {
	f := newFixture(t)
	tests := []struct {
		open            *nodev1.OpenStream
		reason, message string
	}{
		{logsOf("none", "main", &nodev1.Logs{}), "NotFound", `pod "none_default" not found on node n1`},
		{logsOf("web", "late", &nodev1.Logs{}), "BadRequest", `container "late" in pod "web" is waiting to start: ContainerCreating`},
		{logsOf("web", "main", &nodev1.Logs{Previous: true}), "BadRequest", `previous terminated container "main" in pod "web" not found`},
		{&nodev1.OpenStream{Namespace: "default", PodName: "web", PodUid: "other", Container: "main", Kind: &nodev1.OpenStream_Logs{Logs: &nodev1.Logs{}}}, "NotFound", `pod "web_default" not found on node n1`},
		{&nodev1.OpenStream{Namespace: "default", PodName: "web", Container: "main", Kind: &nodev1.OpenStream_Exec{Exec: &nodev1.Exec{Command: []string{"ls"}}}}, "BadRequest",
			"exec is not possible: this node simulates its containers, no process runs in them"},
		{&nodev1.OpenStream{Namespace: "default", PodName: "web", Container: "late", Kind: &nodev1.OpenStream_Attach{Attach: &nodev1.Attach{}}}, "BadRequest", `container "late" in pod "web" is not running`},
	}
	for _, test := range tests {
		answer := f.open(t, test.open)
		if answer.Refused == nil || answer.Refused.Reason != test.reason || answer.Refused.Message != test.message {
			t.Errorf("got %v, want %s: %s", answer.Refused, test.reason, test.message)
		}
	}
}
