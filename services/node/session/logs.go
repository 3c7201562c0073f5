package session

import (
	"context"
	"errors"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nodev1 "github.com/orrery-io/orrery/gen/go/orrery/node/v1"
	"github.com/orrery-io/orrery/services/node/cri"
	"github.com/orrery-io/orrery/services/node/logs"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// logs serves a container's log: that of the newest instance, or with previous that of the one before.
func (s *session) logs(pod *corev1.Pod, state *podstate.Pod, name string, request *nodev1.Logs) (handler, error) {
	latest := state.Latest(name)
	container := latest
	if request.GetPrevious() {
		container = state.Previous(name)
	}
	if container == nil && request.GetPrevious() {
		return nil, refuse(metav1.StatusReasonBadRequest, "previous terminated container %q in pod %q not found", name, pod.Name)
	}
	if container == nil || container.State == podstate.Created {
		return nil, refuse(metav1.StatusReasonBadRequest, "container %q in pod %q is waiting to start: %s", name, pod.Name, waitingFor(pod, name))
	}
	options := logs.Options{Follow: request.GetFollow(), Timestamps: request.GetTimestamps(), Tail: -1, Limit: -1}
	if request.TailLines != nil {
		options.Tail = request.GetTailLines()
	}
	if request.LimitBytes != nil {
		options.Limit = request.GetLimitBytes()
	}
	switch request.GetStream() {
	case corev1.LogStreamStdout:
		options.Stream = logs.Stdout
	case corev1.LogStreamStderr:
		options.Stream = logs.Stderr
	}
	if request.SinceSeconds != nil {
		options.Since = s.config.Clock.Now().Add(-time.Duration(request.GetSinceSeconds()) * time.Second)
	}
	if request.GetSinceTime() != nil {
		options.Since = request.GetSinceTime().AsTime()
	}
	return func(ctx context.Context, c *conversation) *nodev1.End {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			// Nothing comes from the client; the end of the call says that it has gone.
			for {
				if _, err := c.recv(); err != nil {
					cancel()
					return
				}
			}
		}()
		options.Running = func() bool {
			now, err := s.config.Runtime.ContainerStatus(ctx, container.ID)
			return err == nil && now.GetFinishedAt() == 0
		}
		if container.LogPath == "" {
			return s.noLog()
		}
		err := logs.Read(ctx, container.LogPath, options, c.writer(stdoutChannel), c.writer(stderrChannel))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &nodev1.End{Reason: string(metav1.StatusReasonNotFound), Message: "the log of container " + name + " has been removed"}
		case err != nil && ctx.Err() == nil:
			return failed(err)
		}
		return &nodev1.End{}
	}, nil
}

// noLog is the end of the log of a container that has none: a simulated one is silent, of any other its absence is an error.
func (s *session) noLog() *nodev1.End {
	if _, simulated := s.config.Runtime.(cri.ProbeSimulator); simulated {
		return &nodev1.End{}
	}
	return &nodev1.End{Reason: string(metav1.StatusReasonNotFound), Message: "the container runtime keeps no log of the container"}
}

// waitingFor is what a container that has not started waits for, in the words of its status.
func waitingFor(pod *corev1.Pod, name string) string {
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses} {
		for _, status := range list {
			if status.Name != name || status.State.Waiting == nil {
				continue
			}
			switch status.State.Waiting.Reason {
			case "ErrImagePull":
				return "trying and failing to pull image"
			case "ImagePullBackOff":
				return "image can't be pulled"
			}
			return status.State.Waiting.Reason
		}
	}
	return "ContainerCreating"
}
