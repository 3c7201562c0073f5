package podconfig

import (
	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubectl/pkg/util/qos"
)

// Linux' scheduler constants: a core's worth of shares, and the period of quotas in microseconds.
const (
	sharesPerCPU = 1024
	minShares    = 2
	quotaPeriod  = 100000
	minQuota     = 1000
)

// QOSClass is the pod's quality of service class.
func QOSClass(pod *corev1.Pod) corev1.PodQOSClass {
	if pod.Status.QOSClass != "" {
		return pod.Status.QOSClass
	}
	return qos.GetPodQOS(pod)
}

// CPUShares of a request in thousandths of a core.
func CPUShares(milli int64) int64 { return max(minShares, milli*sharesPerCPU/1000) }

// CPUQuota of a limit in thousandths of a core, per 100 ms; 0 when there is no limit.
func CPUQuota(milli int64) int64 {
	if milli == 0 {
		return 0
	}
	return max(minQuota, milli*quotaPeriod/1000)
}

func (h Host) resources(pod *corev1.Pod, container *corev1.Container) *runtimeapi.LinuxContainerResources {
	limits, requests := container.Resources.Limits, container.Resources.Requests
	request := requests.Cpu().MilliValue()
	if _, set := requests[corev1.ResourceCPU]; !set {
		request = limits.Cpu().MilliValue()
	}
	out := &runtimeapi.LinuxContainerResources{
		CpuShares: CPUShares(request), CpuPeriod: quotaPeriod, CpuQuota: CPUQuota(limits.Cpu().MilliValue()),
		MemoryLimitInBytes: limits.Memory().Value(), OomScoreAdj: h.oomScoreAdj(pod, container),
	}
	for name, quantity := range limits {
		if size, ok := hugePage(name); ok {
			out.HugepageLimits = append(out.HugepageLimits, &runtimeapi.HugepageLimit{PageSize: size, Limit: uint64(quantity.Value())})
		}
	}
	return out
}

// oomScoreAdj makes the kernel kill what promised nothing before what asked for its memory.
func (h Host) oomScoreAdj(pod *corev1.Pod, container *corev1.Container) int64 {
	if pod.Spec.PriorityClassName == "system-node-critical" {
		return -997
	}
	switch QOSClass(pod) {
	case corev1.PodQOSGuaranteed:
		return -997
	case corev1.PodQOSBestEffort:
		return 1000
	}
	capacity := h.Allocatable.Memory().Value()
	if capacity == 0 {
		return 999
	}
	return min(999, max(3, 1000-1000*container.Resources.Requests.Memory().Value()/capacity))
}

// hugePage reads the size from hugepages-2Mi, as the kernel writes it: 2MB.
func hugePage(name corev1.ResourceName) (string, bool) {
	switch name {
	case "hugepages-2Mi":
		return "2MB", true
	case "hugepages-1Gi":
		return "1GB", true
	}
	return "", false
}
