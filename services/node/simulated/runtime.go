package simulated

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/node/cri"
)

// Runtime is an in-memory cri.Runtime.
type Runtime struct {
	clock clock.PassiveClock

	mu         sync.Mutex
	addresses  pool
	sandboxes  map[string]*sandbox
	containers map[string]*container
	// byPod finds a pod's sandboxes without looking at all others.
	byPod    map[string]map[string]*sandbox
	images   map[string]*runtimeapi.Image
	watchers map[int]chan *runtimeapi.ContainerEventResponse
	watcher  int
}

type sandbox struct {
	id         string
	config     *runtimeapi.PodSandboxConfig
	created    int64
	ready      bool
	ip         string
	containers map[string]*container
}

type container struct {
	id      string
	config  *runtimeapi.ContainerConfig
	sandbox *sandbox
	status  *runtimeapi.ContainerStatus
}

var (
	_ cri.Runtime        = (*Runtime)(nil)
	_ cri.ProbeSimulator = (*Runtime)(nil)
)

// New makes a runtime whose pods have addresses of the subnet.
func New(clock clock.PassiveClock, subnet netip.Prefix) *Runtime {
	return &Runtime{clock: clock, addresses: newPool(subnet), sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, byPod: map[string]map[string]*sandbox{},
		images: map[string]*runtimeapi.Image{}, watchers: map[int]chan *runtimeapi.ContainerEventResponse{}}
}

func newID() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Version names the runtime.
func (r *Runtime) Version(context.Context) (name, version string, err error) {
	return "simulated", "1.0.0", nil
}

// Status is always ready.
func (r *Runtime) Status(context.Context) (cri.Status, error) {
	return cri.Status{Runtime: cri.Condition{Ready: true}, Network: cri.Condition{Ready: true}}, nil
}

func (r *Runtime) RunPodSandbox(ctx context.Context, config *runtimeapi.PodSandboxConfig, _ string) (id string, err error) {
	end := cri.Span(ctx, "RunPodSandbox", config, "")
	defer func() { end(err) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &sandbox{id: newID(), config: config, created: r.clock.Now().UnixNano(), ready: true, containers: map[string]*container{}}
	if config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetNetwork() != runtimeapi.NamespaceMode_NODE {
		ip, ok := r.addresses.take()
		if !ok {
			return "", status.Error(codes.ResourceExhausted, "no address left in the pod network")
		}
		s.ip = ip
	}
	r.sandboxes[s.id] = s
	uid := config.Labels[cri.LabelPodUID]
	if r.byPod[uid] == nil {
		r.byPod[uid] = map[string]*sandbox{}
	}
	r.byPod[uid][s.id] = s
	return s.id, nil
}

func (r *Runtime) StopPodSandbox(ctx context.Context, id string) (err error) {
	end := cri.Span(ctx, "StopPodSandbox", nil, id)
	defer func() { end(err) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sandboxes[id]
	if !ok {
		return nil
	}
	for _, c := range s.containers {
		r.exit(c, 137, "Error")
	}
	if s.ready {
		s.ready = false
		r.addresses.give(s.ip)
	}
	return nil
}

func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	_ = r.StopPodSandbox(ctx, id) // never fails
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sandboxes[id]
	if !ok {
		return nil
	}
	for _, c := range s.containers {
		delete(r.containers, c.id)
	}
	delete(r.sandboxes, id)
	uid := s.config.Labels[cri.LabelPodUID]
	if delete(r.byPod[uid], id); len(r.byPod[uid]) == 0 {
		delete(r.byPod, uid)
	}
	return nil
}

func (r *Runtime) PodSandboxStatus(_ context.Context, id string) (*runtimeapi.PodSandboxStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sandboxes[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no sandbox %q", id)
	}
	return s.status(), nil
}

func (s *sandbox) state() runtimeapi.PodSandboxState {
	if s.ready {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

func (s *sandbox) status() *runtimeapi.PodSandboxStatus {
	return &runtimeapi.PodSandboxStatus{Id: s.id, Metadata: s.config.Metadata, State: s.state(), CreatedAt: s.created,
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.ip}, Labels: s.config.Labels, Annotations: s.config.Annotations,
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: s.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}}}
}

// selected calls visit for the sandboxes whose labels hold the selector's.
func (r *Runtime) selected(selector map[string]string, visit func(*sandbox)) {
	from := r.sandboxes
	if uid := selector[cri.LabelPodUID]; uid != "" {
		from = r.byPod[uid]
	}
	for _, s := range from {
		matches := true
		for name, value := range selector {
			matches = matches && s.config.Labels[name] == value
		}
		if matches {
			visit(s)
		}
	}
}

func (r *Runtime) ListPodSandboxes(_ context.Context, selector map[string]string) ([]*runtimeapi.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*runtimeapi.PodSandbox
	r.selected(selector, func(s *sandbox) {
		out = append(out, &runtimeapi.PodSandbox{Id: s.id, Metadata: s.config.Metadata, State: s.state(), CreatedAt: s.created, Labels: s.config.Labels, Annotations: s.config.Annotations})
	})
	return out, nil
}

func (r *Runtime) CreateContainer(ctx context.Context, sandboxID string, config *runtimeapi.ContainerConfig, sandboxConfig *runtimeapi.PodSandboxConfig) (id string, err error) {
	end := cri.Span(ctx, "CreateContainer", sandboxConfig, "")
	defer func() { end(err) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sandboxes[sandboxID]
	if !ok || !s.ready {
		return "", status.Errorf(codes.NotFound, "no running sandbox %q", sandboxID)
	}
	image, ok := r.images[config.GetImage().GetImage()]
	if !ok {
		return "", status.Errorf(codes.NotFound, "no image %q: pull it first", config.GetImage().GetImage())
	}
	c := &container{id: newID(), config: config, sandbox: s}
	c.status = &runtimeapi.ContainerStatus{Id: c.id, Metadata: config.Metadata, State: runtimeapi.ContainerState_CONTAINER_CREATED, CreatedAt: r.clock.Now().UnixNano(),
		Image: config.Image, ImageRef: image.RepoDigests[0], Labels: config.Labels, Annotations: config.Annotations, Mounts: config.Mounts}
	if sandboxConfig.GetLogDirectory() != "" && config.LogPath != "" {
		c.status.LogPath = filepath.Join(sandboxConfig.LogDirectory, config.LogPath)
	}
	s.containers[c.id], r.containers[c.id] = c, c
	r.tell(runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT, c)
	return c.id, nil
}

func (r *Runtime) StartContainer(ctx context.Context, id string) (err error) {
	end := cri.Span(ctx, "StartContainer", nil, id)
	defer func() { end(err) }()
	r.mu.Lock()
	c, ok := r.containers[id]
	if !ok || c.status.State != runtimeapi.ContainerState_CONTAINER_CREATED {
		r.mu.Unlock()
		return status.Errorf(codes.FailedPrecondition, "container %q is not there or was started before", id)
	}
	c.status.State, c.status.StartedAt = runtimeapi.ContainerState_CONTAINER_RUNNING, r.clock.Now().UnixNano()
	path := c.status.LogPath
	r.tell(runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT, c)
	r.mu.Unlock()
	if path == "" {
		return nil
	}
	// An empty log: the container says nothing, but reading its log works.
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return nil
}

// StopContainer ends the container with exit code 0, as a program does that handles SIGTERM.
func (r *Runtime) StopContainer(ctx context.Context, id string, _ time.Duration) (err error) {
	end := cri.Span(ctx, "StopContainer", nil, id)
	defer func() { end(err) }()
	r.Exit(id, 0)
	return nil
}

// Exit ends a running container with the exit code, as if its process had ended.
func (r *Runtime) Exit(id string, code int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := "Completed"
	if code != 0 {
		reason = "Error"
	}
	if c, ok := r.containers[id]; ok {
		r.exit(c, code, reason)
	}
}

func (r *Runtime) exit(c *container, code int32, reason string) {
	if c.status.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return
	}
	c.status.State, c.status.FinishedAt = runtimeapi.ContainerState_CONTAINER_EXITED, r.clock.Now().UnixNano()
	c.status.ExitCode, c.status.Reason = code, reason
	r.tell(runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT, c)
}

func (r *Runtime) RemoveContainer(ctx context.Context, id string) (err error) {
	end := cri.Span(ctx, "RemoveContainer", nil, id)
	defer func() { end(err) }()
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.containers[id]
	if !ok {
		return nil
	}
	r.exit(c, 137, "Error")
	delete(r.containers, id)
	delete(c.sandbox.containers, id)
	r.tell(runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT, c)
	return nil
}

func (r *Runtime) ContainerStatus(_ context.Context, id string) (*runtimeapi.ContainerStatus, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.containers[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "no container %q", id)
	}
	return c.copy(), nil
}

// copy is a status of its own, since the original goes on changing.
func (c *container) copy() *runtimeapi.ContainerStatus {
	s := c.status
	return &runtimeapi.ContainerStatus{Id: s.Id, Metadata: s.Metadata, State: s.State, CreatedAt: s.CreatedAt, StartedAt: s.StartedAt, FinishedAt: s.FinishedAt, ExitCode: s.ExitCode,
		Image: s.Image, ImageRef: s.ImageRef, Reason: s.Reason, Message: s.Message, Labels: s.Labels, Annotations: s.Annotations, Mounts: s.Mounts, LogPath: s.LogPath}
}

func (r *Runtime) ListContainers(_ context.Context, selector map[string]string) ([]*runtimeapi.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pods := maps.Clone(selector)
	delete(pods, cri.LabelContainerName)
	var out []*runtimeapi.Container
	r.selected(pods, func(s *sandbox) {
		for _, c := range s.containers {
			if name := selector[cri.LabelContainerName]; name == "" || c.config.Labels[cri.LabelContainerName] == name {
				out = append(out, &runtimeapi.Container{Id: c.id, PodSandboxId: s.id, Metadata: c.config.Metadata, Image: c.config.Image, ImageRef: c.status.ImageRef,
					State: c.status.State, CreatedAt: c.status.CreatedAt, Labels: c.config.Labels, Annotations: c.config.Annotations})
			}
		}
	})
	return out, nil
}

// ContainerStats answers none: nothing is used.
func (r *Runtime) ContainerStats(context.Context, map[string]string) ([]*runtimeapi.ContainerStats, error) {
	return nil, nil
}

// ReopenContainerLog has nothing to do.
func (r *Runtime) ReopenContainerLog(context.Context, string) error { return nil }

func noProcess(what string) error {
	return status.Error(codes.Unimplemented, what+" is not possible: this node simulates its containers, no process runs in them")
}

func (r *Runtime) ExecSync(context.Context, string, []string, time.Duration) (cri.ExecResult, error) {
	return cri.ExecResult{}, noProcess("exec")
}

func (r *Runtime) Exec(context.Context, *runtimeapi.ExecRequest) (string, error) {
	return "", noProcess("exec")
}

func (r *Runtime) Attach(context.Context, *runtimeapi.AttachRequest) (string, error) {
	return "", noProcess("attach")
}

func (r *Runtime) PortForward(context.Context, *runtimeapi.PortForwardRequest) (string, error) {
	return "", noProcess("port-forward")
}

// SimulateProbe succeeds while the container runs.
func (r *Runtime) SimulateProbe(_ context.Context, id string, _ *corev1.Probe) (bool, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c, ok := r.containers[id]
	if !ok || c.status.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return false, fmt.Sprintf("container %s does not run", id), nil
	}
	return true, "", nil
}
