package cri

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// How long calls may take: those that look, and those that do.
const (
	lookTimeout = 20 * time.Second
	workTimeout = 4 * time.Minute
)

// Client is a Runtime behind a unix socket.
type Client struct {
	conn    *grpc.ClientConn
	runtime runtimeapi.RuntimeServiceClient
	image   runtimeapi.ImageServiceClient
}

var _ Runtime = (*Client)(nil)

// Dial makes a client of the runtime at endpoint, a path or unix:// URL. It connects lazily and again whenever the runtime comes back.
func Dial(endpoint string) (*Client, error) {
	path := strings.TrimPrefix(endpoint, "unix://")
	if !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("cri: the runtime endpoint %q is not an absolute path or unix:// URL of a socket", endpoint)
	}
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}, MinConnectTimeout: time.Second}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		return nil, fmt.Errorf("cri: %w", err)
	}
	return &Client{conn: conn, runtime: runtimeapi.NewRuntimeServiceClient(conn), image: runtimeapi.NewImageServiceClient(conn)}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

func (c *Client) Version(ctx context.Context) (name, version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.Version(ctx, &runtimeapi.VersionRequest{Version: "v1"})
	return out.GetRuntimeName(), out.GetRuntimeVersion(), err
}

func (c *Client) Status(ctx context.Context) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.Status(ctx, &runtimeapi.StatusRequest{})
	status := Status{}
	for _, condition := range out.GetStatus().GetConditions() {
		found := Condition{Ready: condition.Status, Reason: condition.Reason, Message: condition.Message}
		switch condition.Type {
		case runtimeapi.RuntimeReady:
			status.Runtime = found
		case runtimeapi.NetworkReady:
			status.Network = found
		}
	}
	return status, err
}

func (c *Client) RunPodSandbox(ctx context.Context, config *runtimeapi.PodSandboxConfig, handler string) (id string, err error) {
	ctx, end := start(ctx, "RunPodSandbox", podAttributes(config)...)
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	out, err := c.runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: handler})
	return out.GetPodSandboxId(), err
}

func (c *Client) StopPodSandbox(ctx context.Context, id string) (err error) {
	ctx, end := start(ctx, "StopPodSandbox", containerID(id))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err = c.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id})
	return ignoreMissing(err)
}

func (c *Client) RemovePodSandbox(ctx context.Context, id string) (err error) {
	ctx, end := start(ctx, "RemovePodSandbox", containerID(id))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err = c.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})
	return ignoreMissing(err)
}

func (c *Client) PodSandboxStatus(ctx context.Context, id string) (*runtimeapi.PodSandboxStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	return out.GetStatus(), err
}

func (c *Client) ListPodSandboxes(ctx context.Context, selector map[string]string) ([]*runtimeapi.PodSandbox, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{Filter: &runtimeapi.PodSandboxFilter{LabelSelector: selector}})
	return out.GetItems(), err
}

func (c *Client) CreateContainer(ctx context.Context, sandbox string, config *runtimeapi.ContainerConfig, sandboxConfig *runtimeapi.PodSandboxConfig) (id string, err error) {
	ctx, end := start(ctx, "CreateContainer", append(podAttributes(sandboxConfig), attribute.String("k8s.container.name", config.GetMetadata().GetName()))...)
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	out, err := c.runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox, Config: config, SandboxConfig: sandboxConfig})
	return out.GetContainerId(), err
}

func (c *Client) StartContainer(ctx context.Context, id string) (err error) {
	ctx, end := start(ctx, "StartContainer", containerID(id))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err = c.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
	return err
}

func (c *Client) StopContainer(ctx context.Context, id string, grace time.Duration) (err error) {
	ctx, end := start(ctx, "StopContainer", containerID(id), attribute.Int64("grace_seconds", int64(grace.Seconds())))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, grace+workTimeout)
	defer cancel()
	_, err = c.runtime.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: int64(math.Ceil(grace.Seconds()))})
	return ignoreMissing(err)
}

func (c *Client) RemoveContainer(ctx context.Context, id string) (err error) {
	ctx, end := start(ctx, "RemoveContainer", containerID(id))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err = c.runtime.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: id})
	return ignoreMissing(err)
}

func (c *Client) ContainerStatus(ctx context.Context, id string) (*runtimeapi.ContainerStatus, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	return out.GetStatus(), err
}

func (c *Client) ListContainers(ctx context.Context, selector map[string]string) ([]*runtimeapi.Container, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: selector}})
	return out.GetContainers(), err
}

func (c *Client) ContainerStats(ctx context.Context, selector map[string]string) ([]*runtimeapi.ContainerStats, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.ListContainerStats(ctx, &runtimeapi.ListContainerStatsRequest{Filter: &runtimeapi.ContainerStatsFilter{LabelSelector: selector}})
	return out.GetStats(), err
}

func (c *Client) ReopenContainerLog(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	_, err := c.runtime.ReopenContainerLog(ctx, &runtimeapi.ReopenContainerLogRequest{ContainerId: id})
	return err
}

func (c *Client) Events(ctx context.Context, handle func(*runtimeapi.ContainerEventResponse)) error {
	stream, err := c.runtime.GetContainerEvents(ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		return err
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return err
		}
		handle(event)
	}
}

func (c *Client) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) (ExecResult, error) {
	// The runtime ends the command itself; the call waits a little longer, so that its answer arrives.
	deadline := workTimeout
	if timeout > 0 {
		deadline = timeout + 5*time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	out, err := c.runtime.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: command, Timeout: int64(math.Ceil(timeout.Seconds()))})
	return ExecResult{Stdout: out.GetStdout(), Stderr: out.GetStderr(), ExitCode: out.GetExitCode()}, err
}

func (c *Client) Exec(ctx context.Context, request *runtimeapi.ExecRequest) (url string, err error) {
	ctx, end := start(ctx, "Exec", containerID(request.ContainerId))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.Exec(ctx, request)
	return out.GetUrl(), err
}

func (c *Client) Attach(ctx context.Context, request *runtimeapi.AttachRequest) (url string, err error) {
	ctx, end := start(ctx, "Attach", containerID(request.ContainerId))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.Attach(ctx, request)
	return out.GetUrl(), err
}

func (c *Client) PortForward(ctx context.Context, request *runtimeapi.PortForwardRequest) (url string, err error) {
	ctx, end := start(ctx, "PortForward", containerID(request.PodSandboxId))
	defer func() { end(err) }()
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.runtime.PortForward(ctx, request)
	return out.GetUrl(), err
}

func (c *Client) ImageStatus(ctx context.Context, image string) (*runtimeapi.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.image.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	return out.GetImage(), err
}

func (c *Client) PullImage(ctx context.Context, image string, auth *runtimeapi.AuthConfig, sandbox *runtimeapi.PodSandboxConfig) (ref string, err error) {
	ctx, end := start(ctx, "PullImage", attribute.String("container.image.name", image))
	defer func() { end(err) }()
	out, err := c.image.PullImage(ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}, Auth: auth, SandboxConfig: sandbox})
	return out.GetImageRef(), err
}

func (c *Client) ListImages(ctx context.Context) ([]*runtimeapi.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := c.image.ListImages(ctx, &runtimeapi.ListImagesRequest{})
	return out.GetImages(), err
}

func (c *Client) RemoveImage(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, workTimeout)
	defer cancel()
	_, err := c.image.RemoveImage(ctx, &runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	return ignoreMissing(err)
}

func ignoreMissing(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}
