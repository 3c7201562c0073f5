package nodesession

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultContainer is the annotation by which a pod names the container that tools mean.
const defaultContainer = "kubectl.kubernetes.io/default-container"

func (n *Nodes) pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	e, err := n.config.Pods.Get(ctx, namespace, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("the endpoint of pods returned a %T", e.Object))
	}
	return pod, nil
}

// containerOf is the container that a request means: the one it names, else the pod's default, else its only one.
func containerOf(pod *corev1.Pod, name string) (string, error) {
	if name == "" {
		name = pod.Annotations[defaultContainer]
		if name != "" && hasContainer(pod, name) {
			return name, nil
		}
		if len(pod.Spec.Containers) == 1 {
			return pod.Spec.Containers[0].Name, nil
		}
		message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: [%s]", pod.Name, names(pod.Spec.Containers))
		if len(pod.Spec.InitContainers) > 0 {
			message += fmt.Sprintf(" or one of the init containers: [%s]", names(pod.Spec.InitContainers))
		}
		return "", apierrors.NewBadRequest(message)
	}
	if !hasContainer(pod, name) {
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
	}
	return name, nil
}

func names(containers []corev1.Container) string {
	out := make([]string, len(containers))
	for i, c := range containers {
		out[i] = c.Name
	}
	return strings.Join(out, " ")
}

func hasContainer(pod *corev1.Pod, name string) bool {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, c := range list {
			if c.Name == name {
				return true
			}
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Name == name {
			return true
		}
	}
	return false
}

// hasLog says why a container has no log yet, as far as its pod's status tells.
func hasLog(pod *corev1.Pod, container string, previous bool) error {
	var status *corev1.ContainerStatus
	for _, list := range [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for i := range list {
			if list[i].Name == container {
				status = &list[i]
			}
		}
	}
	if status == nil {
		return apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is not available", container, pod.Name))
	}
	last := status.LastTerminationState.Terminated
	switch {
	case previous:
		if last == nil || last.ContainerID == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("previous terminated container %q in pod %q not found", container, pod.Name))
		}
	case status.State.Running != nil, last != nil:
	case status.State.Terminated != nil:
		if status.State.Terminated.ContainerID == "" {
			return apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is terminated", container, pod.Name))
		}
	case status.State.Waiting != nil:
		why := status.State.Waiting.Reason
		switch why {
		case "ErrImagePull":
			why = "image can't be pulled"
		case "ImagePullBackOff":
			why = "trying and failing to pull image"
		}
		return apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is waiting to start: %s", container, pod.Name, why))
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("container %q in pod %q is waiting to start - no logs yet", container, pod.Name))
	}
	return nil
}
