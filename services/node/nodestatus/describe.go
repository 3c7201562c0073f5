package nodestatus

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

// maxImages is how many images a Node lists: the largest.
const maxImages = 50

// labels are the node's own, over those given.
func (m *Manager) labels() map[string]string {
	out := maps.Clone(m.config.Labels)
	if out == nil {
		out = map[string]string{}
	}
	out[corev1.LabelHostname] = m.config.Name
	out[corev1.LabelOSStable], out[corev1.LabelArchStable] = runtime.GOOS, runtime.GOARCH
	out["beta.kubernetes.io/os"], out["beta.kubernetes.io/arch"] = runtime.GOOS, runtime.GOARCH
	return out
}

// status computes the Node's status over the old one.
func (m *Manager) status(ctx context.Context, old *corev1.NodeStatus) corev1.NodeStatus {
	out := *old.DeepCopy()
	out.Capacity, out.Allocatable = m.config.Capacity, m.config.Allocatable
	out.Addresses = nil
	for _, ip := range m.config.IPs {
		out.Addresses = append(out.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
	}
	out.Addresses = append(out.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: m.config.Name})
	out.NodeInfo = m.info
	if m.info.ContainerRuntimeVersion == "" {
		if name, version, err := m.config.Runtime.Version(ctx); err == nil {
			m.info = systemInfo(m.config.Version, name+"://"+version)
			out.NodeInfo = m.info
		}
	}
	out.Images = m.images(ctx)
	short := measure(m.config.Dir)
	now := metav1.NewTime(m.config.Clock.Now().Truncate(time.Second))
	set := func(kind corev1.NodeConditionType, bad bool, goodReason, goodMessage, badReason, badMessage string) {
		c := corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: goodReason, Message: goodMessage, LastHeartbeatTime: now, LastTransitionTime: now}
		if bad {
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, badReason, badMessage
		}
		put(&out, c)
	}
	set(corev1.NodeMemoryPressure, short.memory, "KubeletHasSufficientMemory", "kubelet has sufficient memory available", "KubeletHasInsufficientMemory", "kubelet has insufficient memory available")
	set(corev1.NodeDiskPressure, short.disk, "KubeletHasNoDiskPressure", "kubelet has no disk pressure", "KubeletHasDiskPressure", "kubelet has disk pressure")
	set(corev1.NodePIDPressure, short.pids, "KubeletHasSufficientPID", "kubelet has sufficient PID available", "KubeletHasInsufficientPID", "kubelet has insufficient PID available")
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status", LastHeartbeatTime: now, LastTransitionTime: now}
	if problem := m.problem(ctx); problem != "" {
		ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, "KubeletNotReady", problem
	}
	put(&out, ready)
	return out
}

// problem says what keeps the node from running pods; empty when nothing does.
func (m *Manager) problem(ctx context.Context) string {
	status, err := m.config.Runtime.Status(ctx)
	switch {
	case err != nil:
		return "container runtime is down: " + cri.Message(err)
	case !status.Runtime.Ready:
		return fmt.Sprintf("container runtime not ready: RuntimeReady=false reason:%s message:%s", status.Runtime.Reason, status.Runtime.Message)
	case !status.Network.Ready:
		return fmt.Sprintf("container runtime network not ready: NetworkReady=false reason:%s message:%s", status.Network.Reason, status.Network.Message)
	}
	return ""
}

func (m *Manager) images(ctx context.Context) []corev1.ContainerImage {
	list, err := m.config.Runtime.ListImages(ctx)
	if err != nil {
		return nil
	}
	out := make([]corev1.ContainerImage, 0, len(list))
	for _, image := range list {
		names := append(slices.Clone(image.RepoDigests), image.RepoTags...)
		if len(names) > 0 {
			slices.Sort(names)
			out = append(out, corev1.ContainerImage{Names: names, SizeBytes: int64(image.GetSize())})
		}
	}
	slices.SortFunc(out, func(a, b corev1.ContainerImage) int {
		return cmp.Or(cmp.Compare(b.SizeBytes, a.SizeBytes), cmp.Compare(a.Names[0], b.Names[0]))
	})
	return out[:min(len(out), maxImages)]
}

// put sets a condition and keeps the time of its last change.
func put(status *corev1.NodeStatus, c corev1.NodeCondition) {
	for i := range status.Conditions {
		if old := &status.Conditions[i]; old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			*old = c
			return
		}
	}
	status.Conditions = append(status.Conditions, c)
}

// same compares two statuses without the times of their heartbeats.
func same(a, b *corev1.NodeStatus, equal func(a, b any) bool) bool {
	x, y := a.DeepCopy(), b.DeepCopy()
	for _, s := range []*corev1.NodeStatus{x, y} {
		for i := range s.Conditions {
			s.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return equal(x, y)
}
