package status

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/node/podconfig"
	"github.com/orrery-io/orrery/services/node/podstate"
)

// Waiting is why a container does not run.
type Waiting struct{ Reason, Message string }

// Probes answers for containers that have probes.
type Probes interface {
	// Started tells that the startup probe of the running container has succeeded, or that there is none.
	Started(containerID string) bool
	// Ready tells the same of its readiness probe.
	Ready(containerID string) bool
}

// Input is all that a status depends on.
type Input struct {
	// Pod has the specification and, in its status, what was written last.
	Pod   *corev1.Pod
	State *podstate.Pod
	// Waiting has the containers that could not be started, by name.
	Waiting map[string]Waiting
	Probes  Probes
	HostIPs []string
	// Terminal says that no container runs or will run again because the pod is ended.
	Terminal bool
	// Failure, when set, makes the pod Failed with the reason, whatever its containers did: DeadlineExceeded, Evicted.
	Failure *Waiting
	// Message reads what an ended container said of itself; may be nil.
	Message func(*podstate.Container) string
	Now     time.Time
}

// Generate computes the whole status that the node is responsible for. Conditions of others are left out; the Writer keeps them.
func Generate(in Input) corev1.PodStatus {
	pod, old := in.Pod, &in.Pod.Status
	out := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		QOSClass:           podconfig.QOSClass(pod),
		StartTime:          old.StartTime,
		HostIP:             old.HostIP,
		HostIPs:            old.HostIPs,
		PodIP:              old.PodIP,
		PodIPs:             old.PodIPs,
	}
	if out.StartTime == nil {
		now := metav1.NewTime(in.Now.Truncate(time.Second))
		out.StartTime = &now
	}
	if len(in.HostIPs) > 0 {
		out.HostIP, out.HostIPs = in.HostIPs[0], nil
		for _, ip := range in.HostIPs {
			out.HostIPs = append(out.HostIPs, corev1.HostIP{IP: ip})
		}
	}
	sandbox := in.State.ReadySandbox()
	if sandbox != nil {
		ips := sandbox.IPs
		if pod.Spec.HostNetwork {
			ips = in.HostIPs
		}
		// When the sandbox is down, the last address stays to be seen.
		if len(ips) > 0 {
			out.PodIP, out.PodIPs = ips[0], nil
			for _, ip := range ips {
				out.PodIPs = append(out.PodIPs, corev1.PodIP{IP: ip})
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		out.InitContainerStatuses = append(out.InitContainerStatuses, containerStatus(in, c, find(old.InitContainerStatuses, c.Name), true))
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		out.ContainerStatuses = append(out.ContainerStatuses, containerStatus(in, c, find(old.ContainerStatuses, c.Name), false))
	}
	out.Phase = phase(pod, &out, in.Terminal)
	if in.Failure != nil {
		out.Phase, out.Reason, out.Message = corev1.PodFailed, in.Failure.Reason, in.Failure.Message
	} else if old.Phase == corev1.PodFailed || old.Phase == corev1.PodSucceeded {
		// The end is final.
		out.Phase, out.Reason, out.Message = old.Phase, old.Reason, old.Message
	}
	out.Conditions = conditions(in, &out, sandbox)
	return out
}

func find(list []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	if i := slices.IndexFunc(list, func(s corev1.ContainerStatus) bool { return s.Name == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// IsSidecar tells that an init container goes on running beside the others.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}
