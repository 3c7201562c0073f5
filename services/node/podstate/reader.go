package podstate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

// Reader asks the runtime about single pods. It is safe for concurrent use.
type Reader struct {
	runtime cri.Runtime

	mu sync.Mutex
	// known has the details of containers and sandboxes by id, valid as long as the state is the one they were read in.
	known map[types.UID]*details
}

type details struct {
	containers map[string]Container
	sandboxes  map[string]Sandbox
}

// NewReader makes a Reader.
func NewReader(runtime cri.Runtime) *Reader {
	return &Reader{runtime: runtime, known: map[types.UID]*details{}}
}

// Read returns the pod as it is now; a pod that the runtime does not have is Empty.
func (r *Reader) Read(ctx context.Context, uid types.UID) (*Pod, error) {
	selector := map[string]string{cri.LabelPodUID: string(uid)}
	sandboxes, err := r.runtime.ListPodSandboxes(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("listing the pod's sandboxes: %w", err)
	}
	containers, err := r.runtime.ListContainers(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("listing the pod's containers: %w", err)
	}
	r.mu.Lock()
	old := r.known[uid]
	r.mu.Unlock()
	if old == nil {
		old = &details{}
	}
	fresh := &details{containers: make(map[string]Container, len(containers)), sandboxes: make(map[string]Sandbox, len(sandboxes))}
	pod := &Pod{UID: uid}
	for _, s := range sandboxes {
		pod.Namespace, pod.Name = s.Labels[cri.LabelPodNamespace], s.Labels[cri.LabelPodName]
		ready := s.State == runtimeapi.PodSandboxState_SANDBOX_READY
		sandbox, ok := old.sandboxes[s.Id]
		if !ok || sandbox.Ready != ready {
			if sandbox, err = r.sandbox(ctx, s, ready); cri.IsNotFound(err) {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("reading sandbox %s: %w", s.Id, err)
			}
		}
		fresh.sandboxes[s.Id] = sandbox
		pod.Sandboxes = append(pod.Sandboxes, sandbox)
	}
	for _, c := range containers {
		state := stateOf(c.State)
		container, ok := old.containers[c.Id]
		if !ok || container.State != state || state == Unknown {
			status, err := r.runtime.ContainerStatus(ctx, c.Id)
			if cri.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("reading container %s: %w", c.Id, err)
			}
			container = containerOf(c, status)
		}
		fresh.containers[c.Id] = container
		pod.Containers = append(pod.Containers, container)
	}
	slices.SortFunc(pod.Sandboxes, func(a, b Sandbox) int { return b.CreatedAt.Compare(a.CreatedAt) })
	slices.SortFunc(pod.Containers, func(a, b Container) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Attempt, a.Attempt))
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if pod.Empty() {
		delete(r.known, uid)
	} else {
		r.known[uid] = fresh
	}
	return pod, nil
}

func (r *Reader) sandbox(ctx context.Context, s *runtimeapi.PodSandbox, ready bool) (Sandbox, error) {
	out := Sandbox{ID: s.Id, Attempt: s.GetMetadata().GetAttempt(), Ready: ready, CreatedAt: time.Unix(0, s.CreatedAt)}
	status, err := r.runtime.PodSandboxStatus(ctx, s.Id)
	if err != nil {
		return out, err
	}
	out.HostNetwork = status.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE
	if ip := status.GetNetwork().GetIp(); ready && ip != "" && !out.HostNetwork {
		out.IPs = []string{ip}
		for _, more := range status.GetNetwork().GetAdditionalIps() {
			out.IPs = append(out.IPs, more.Ip)
		}
	}
	return out, nil
}

func stateOf(s runtimeapi.ContainerState) State {
	switch s {
	case runtimeapi.ContainerState_CONTAINER_CREATED:
		return Created
	case runtimeapi.ContainerState_CONTAINER_RUNNING:
		return Running
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return Exited
	}
	return Unknown
}

func containerOf(c *runtimeapi.Container, status *runtimeapi.ContainerStatus) Container {
	attempt, err := strconv.ParseInt(c.Annotations[cri.AnnotationRestartCount], 10, 32)
	if err != nil {
		attempt = int64(c.GetMetadata().GetAttempt())
	}
	out := Container{
		ID: c.Id, Name: c.Labels[cri.LabelContainerName], SandboxID: c.PodSandboxId, Attempt: int32(attempt), Hash: c.Annotations[cri.AnnotationHash],
		State: stateOf(status.GetState()), Image: status.GetImage().GetImage(), ImageRef: status.GetImageRef(), CreatedAt: moment(status.GetCreatedAt()),
		StartedAt: moment(status.GetStartedAt()), FinishedAt: moment(status.GetFinishedAt()), ExitCode: status.GetExitCode(), Reason: status.GetReason(),
		Message: status.GetMessage(), LogPath: status.GetLogPath(), Annotations: c.Annotations, User: status.GetUser(),
	}
	if out.CreatedAt.IsZero() {
		out.CreatedAt = moment(c.CreatedAt)
	}
	return out
}

// moment reads nanoseconds since 1970, where 0 means never.
func moment(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns)
}
