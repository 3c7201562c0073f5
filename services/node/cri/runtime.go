package cri

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Condition is one of the runtime's own conditions.
type Condition struct {
	Ready           bool
	Reason, Message string
}

// Status is how the runtime feels.
type Status struct{ Runtime, Network Condition }

// ExecResult is what a command in a container answered.
type ExecResult struct {
	Stdout, Stderr []byte
	ExitCode       int32
}

// Runtime is a container runtime. Methods are safe for concurrent use. Errors are gRPC statuses (see errors.go); stopping and removing what is not
// there succeeds, as CRI demands.
type Runtime interface {
	// Version names the runtime ("containerd") and its version.
	Version(ctx context.Context) (name, version string, err error)
	Status(ctx context.Context) (Status, error)

	// RunPodSandbox makes and starts a sandbox and returns its id.
	RunPodSandbox(ctx context.Context, config *runtimeapi.PodSandboxConfig, handler string) (string, error)
	// StopPodSandbox kills what runs in the sandbox and gives its network back.
	StopPodSandbox(ctx context.Context, id string) error
	RemovePodSandbox(ctx context.Context, id string) error
	PodSandboxStatus(ctx context.Context, id string) (*runtimeapi.PodSandboxStatus, error)
	// ListPodSandboxes lists those whose labels hold the selector's; all when it is empty.
	ListPodSandboxes(ctx context.Context, selector map[string]string) ([]*runtimeapi.PodSandbox, error)

	// CreateContainer makes a container in a sandbox, without starting it, and returns its id.
	CreateContainer(ctx context.Context, sandbox string, config *runtimeapi.ContainerConfig, sandboxConfig *runtimeapi.PodSandboxConfig) (string, error)
	StartContainer(ctx context.Context, id string) error
	// StopContainer signals the container, kills it after grace (whole seconds) and returns when it is dead.
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	RemoveContainer(ctx context.Context, id string) error
	ContainerStatus(ctx context.Context, id string) (*runtimeapi.ContainerStatus, error)
	ListContainers(ctx context.Context, selector map[string]string) ([]*runtimeapi.Container, error)
	ContainerStats(ctx context.Context, selector map[string]string) ([]*runtimeapi.ContainerStats, error)
	// ReopenContainerLog makes the runtime write to a new file after the old one was renamed.
	ReopenContainerLog(ctx context.Context, id string) error
	// Events calls handle for every change of a container until ctx is over; Unimplemented when the runtime has no events.
	Events(ctx context.Context, handle func(*runtimeapi.ContainerEventResponse)) error

	// ExecSync runs a command to its end; DeadlineExceeded after timeout (0: none).
	ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (ExecResult, error)
	// Exec, Attach and PortForward prepare a stream and return the URL where it is served.
	Exec(ctx context.Context, request *runtimeapi.ExecRequest) (string, error)
	Attach(ctx context.Context, request *runtimeapi.AttachRequest) (string, error)
	PortForward(ctx context.Context, request *runtimeapi.PortForwardRequest) (string, error)

	// ImageStatus returns nil when the image is not there.
	ImageStatus(ctx context.Context, image string) (*runtimeapi.Image, error)
	// PullImage returns the reference by which the pulled image is known.
	PullImage(ctx context.Context, image string, auth *runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (string, error)
	ListImages(ctx context.Context) ([]*runtimeapi.Image, error)
	RemoveImage(ctx context.Context, image string) error
}

// ProbeSimulator is implemented by runtimes whose containers have no processes or network to probe: the answer to a probe comes from them.
type ProbeSimulator interface {
	SimulateProbe(ctx context.Context, container string, probe *corev1.Probe) (ok bool, output string, err error)
}
