package defaults

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Pod completes a pod. What it has beyond podSpec concerns pods only and never a template: a template stays as
// its author wrote it, so that the pod template's hash does not follow the limits of one version.
func Pod(pod *corev1.Pod) {
	spec := &pod.Spec
	for i := range spec.Containers {
		requestLimits(&spec.Containers[i].Resources)
	}
	for i := range spec.InitContainers {
		requestLimits(&spec.InitContainers[i].Resources)
	}
	podLevelRequests(pod)
	setPointer(&spec.EnableServiceLinks, true)
	if spec.HostNetwork {
		hostPorts(spec.Containers)
		hostPorts(spec.InitContainers)
	}
	podSpec(spec)
	for i := range pod.Status.ContainerStatuses {
		roundUp(pod.Status.ContainerStatuses[i].AllocatedResources)
	}
}

// PodTemplate completes a v1 PodTemplate.
func PodTemplate(t *corev1.PodTemplate) { podSpec(&t.Template.Spec) }

// podSpec completes what pods and pod templates have in common.
func podSpec(spec *corev1.PodSpec) {
	set(&spec.DNSPolicy, corev1.DNSClusterFirst)
	set(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	setPointer(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	set(&spec.SchedulerName, corev1.DefaultSchedulerName)
	// serviceAccount is the old name of serviceAccountName; both always say the same.
	set(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	for i := range spec.Volumes {
		volume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		container(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		container(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		// The two types have the same fields by definition.
		container((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	roundUp(spec.Overhead)
	if spec.Resources != nil {
		roundUp(spec.Resources.Limits)
		roundUp(spec.Resources.Requests)
	}
}

// requestLimits requests what is limited and not requested.
func requestLimits(r *corev1.ResourceRequirements) {
	for name, limit := range r.Limits {
		if _, ok := r.Requests[name]; ok {
			continue
		}
		if r.Requests == nil {
			r.Requests = make(corev1.ResourceList, len(r.Limits))
		}
		r.Requests[name] = limit.DeepCopy()
	}
}

// podLevelRequests requests for the whole pod what its containers request together, or else what the pod is limited to.
func podLevelRequests(pod *corev1.Pod) {
	r := pod.Spec.Resources
	if r == nil || len(r.Limits) == 0 {
		return
	}
	requests := maps.Clone(r.Requests)
	if requests == nil {
		requests = make(corev1.ResourceList)
	}
	for name, sum := range resourcehelper.AggregateContainerRequests(pod, resourcehelper.PodResourcesOptions{}) {
		if _, ok := requests[name]; !ok && resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = sum.DeepCopy()
		}
	}
	for name, limit := range r.Limits {
		if _, ok := requests[name]; !ok && resourcehelper.IsSupportedPodLevelResource(name) {
			requests[name] = limit.DeepCopy()
		}
	}
	if len(requests) > 0 {
		r.Requests = requests
	}
}

// hostPorts gives the ports of a pod in the host's network the host port that they take there anyway.
func hostPorts(containers []corev1.Container) {
	for i := range containers {
		ports := containers[i].Ports
		for j := range ports {
			set(&ports[j].HostPort, ports[j].ContainerPort)
		}
	}
}

// roundUp brings quantities to the precision that resources are counted in: thousandths.
func roundUp(list corev1.ResourceList) {
	for name, q := range list {
		q.RoundUp(resource.Milli)
		list[name] = q
	}
}
