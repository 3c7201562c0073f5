package containerd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/internal/images"
	"github.com/orrery-io/orrery/services/node/network"
)

// testDir is short enough for sockets, and removed with all that was started in it.
func testDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "ctrd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func needsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("containers need root")
	}
}

func TestPodFromPulledImageThenNothingLeft(t *testing.T) {
	needsRoot(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	dir := testDir(t)
	layout, err := filepath.Abs("../../../.build/images")
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
	defer registry.Close()
	subnet, err := network.PodSubnet(filepath.Join(dir, "pod-cidr"), dir)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Dir: filepath.Join(dir, "c"), PodSubnet: subnet, RegistryMirrors: []string{registry.Mirror()}}
	d, err := Start(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer Remove(context.WithoutCancel(ctx), config.Dir, nil)
	c := d.Client()

	if _, err := c.PullImage(ctx, "docker.io/library/nginx:doesnotexist", nil, nil); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("pulling a missing image: %v", err)
	}
	if _, err := c.PullImage(ctx, "nginx:1.27", nil, nil); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	sandboxConfig := &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: "default", Uid: "u1"}, Hostname: "web", LogDirectory: logs,
		Labels: map[string]string{"a": "b"}, Linux: &runtimeapi.LinuxPodSandboxConfig{CgroupParent: "/" + network.BridgeName(dir)}}
	sandbox, err := c.RunPodSandbox(ctx, sandboxConfig, "")
	if err != nil {
		t.Fatal(err)
	}
	container, err := c.CreateContainer(ctx, sandbox, &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "nginx"},
		Image: &runtimeapi.ImageSpec{Image: "nginx:1.27"}, LogPath: "nginx.log", Linux: &runtimeapi.LinuxContainerConfig{}}, sandboxConfig)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.StartContainer(ctx, container); err != nil {
		t.Fatal(err)
	}
	status, err := c.PodSandboxStatus(ctx, sandbox)
	if err != nil {
		t.Fatal(err)
	}
	ip, err := netip.ParseAddr(status.GetNetwork().GetIp())
	if err != nil || !subnet.Contains(ip) {
		t.Fatalf("the pod's address %q is not in %s", status.GetNetwork().GetIp(), subnet)
	}
	if page := get(ctx, t, "http://"+ip.String()); !strings.Contains(page, "image nginx:1.27") {
		t.Errorf("nginx served %q", page)
	}
	result, err := c.ExecSync(ctx, container, []string{"sh", "-c", "echo out; echo err >&2; exit 7"}, 10*time.Second)
	if err != nil || string(result.Stdout) != "out\n" || string(result.Stderr) != "err\n" || result.ExitCode != 7 {
		t.Errorf("exec: %q %q %d, %v", result.Stdout, result.Stderr, result.ExitCode, err)
	}
	if log, err := os.ReadFile(filepath.Join(logs, "nginx.log")); err != nil || !bytes.Contains(log, []byte("GET /")) {
		t.Errorf("the log is %q, %v", log, err)
	}

	// An agent that comes back finds the same containerd with the same container.
	pid := d.Pid()
	if err := d.Detach(); err != nil {
		t.Fatal(err)
	}
	if d, err = Start(ctx, config); err != nil {
		t.Fatal(err)
	}
	if d.Pid() != pid {
		t.Errorf("containerd was started anew: pid %d, was %d", d.Pid(), pid)
	}
	if s, err := d.Client().ContainerStatus(ctx, container); err != nil || s.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container after adoption: %v, %v", s.GetState(), err)
	}

	if err := d.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if left := processesWith("-address", paths{config.Dir}.socket()); len(left) > 0 {
		t.Errorf("%d shims left", len(left))
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(mounts), dir) {
		t.Errorf("mounts left below %s (%v)", dir, err)
	}
	var missing netlink.LinkNotFoundError
	if _, err := netlink.LinkByName(d.Bridge()); !errors.As(err, &missing) {
		t.Errorf("the bridge is still there: %v", err)
	}
	removeCgroups(t, network.BridgeName(dir))
}

// removeCgroups takes away the parent group, which is the caller's to manage.
func removeCgroups(t *testing.T, name string) {
	groups, err := filepath.Glob("/sys/fs/cgroup/*/" + name)
	if err != nil {
		t.Fatal(err)
	}
	unified, _ := filepath.Glob("/sys/fs/cgroup/" + name)
	for _, group := range append(groups, unified...) {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	}
}

// get asks until the server listens.
func get(ctx context.Context, t *testing.T, url string) string {
	client := &http.Client{Transport: &http.Transport{Proxy: nil, DialContext: (&net.Dialer{}).DialContext, DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(body)
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestBadMirrorNamesTheFormat(t *testing.T) {
	for _, mirror := range []string{"docker.io", "=http://x", "docker.io=ftp://x", "../x=http://y"} {
		c := Config{Dir: t.TempDir(), RegistryMirrors: []string{mirror}}
		if err := c.writeMirrors(); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is not HOST=URL", mirror)) {
			t.Errorf("%s: %v", mirror, err)
		}
	}
}

func TestTooLongFolderIsRefused(t *testing.T) {
	_, err := Start(t.Context(), Config{Dir: "/" + strings.Repeat("long/", 30)})
	if err == nil || !strings.Contains(err.Error(), "choose a shorter data folder") {
		t.Errorf("got %v", err)
	}
}
