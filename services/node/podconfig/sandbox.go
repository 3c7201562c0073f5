package podconfig

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/orrery-io/orrery/services/node/cri"
)

// maxHostname is what Linux and DNS labels allow.
const maxHostname = 63

// Sandbox is the configuration of the pod's sandbox.
func (h Host) Sandbox(pod *corev1.Pod, attempt uint32) (*runtimeapi.PodSandboxConfig, error) {
	dns, err := h.dns(pod)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(pod.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[cri.LabelPodName], labels[cri.LabelPodNamespace], labels[cri.LabelPodUID] = pod.Name, pod.Namespace, string(pod.UID)
	hostname, _ := h.hostname(pod)
	out := &runtimeapi.PodSandboxConfig{
		Metadata:     &runtimeapi.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: attempt},
		Hostname:     hostname,
		LogDirectory: h.LogDir(pod.Namespace, pod.Name, pod.UID),
		DnsConfig:    dns,
		Labels:       labels,
		Annotations:  maps.Clone(pod.Annotations),
		Linux:        &runtimeapi.LinuxPodSandboxConfig{CgroupParent: h.CgroupParent(pod.UID), SecurityContext: sandboxSecurity(pod)},
	}
	if s := pod.Spec.SecurityContext; s != nil && len(s.Sysctls) > 0 {
		out.Linux.Sysctls = map[string]string{}
		for _, sysctl := range s.Sysctls {
			// The kernel takes both separators, the runtime dots alone.
			out.Linux.Sysctls[strings.ReplaceAll(sysctl.Name, "/", ".")] = sysctl.Value
		}
	}
	if pod.Spec.HostNetwork {
		out.Hostname = "" // the host's
		return out, nil
	}
	lists := [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers}
	for _, list := range lists {
		for _, container := range list {
			for _, port := range container.Ports {
				if port.HostPort == 0 {
					continue
				}
				out.PortMappings = append(out.PortMappings, &runtimeapi.PortMapping{HostIp: port.HostIP, HostPort: port.HostPort, ContainerPort: port.ContainerPort,
					Protocol: protocol(port.Protocol)})
			}
		}
	}
	return out, nil
}

// hostname is the pod's host name and, with a subdomain, its full domain name.
func (h Host) hostname(pod *corev1.Pod) (host, full string) {
	if pod.Spec.HostnameOverride != nil && *pod.Spec.HostnameOverride != "" {
		return *pod.Spec.HostnameOverride, ""
	}
	host = pod.Spec.Hostname
	if host == "" {
		host = pod.Name
		if len(host) > maxHostname {
			host = strings.TrimRight(host[:maxHostname], "-.")
		}
	}
	if pod.Spec.Subdomain != "" && h.ClusterDomain != "" {
		full = host + "." + pod.Spec.Subdomain + "." + pod.Namespace + ".svc." + h.ClusterDomain
	}
	if isTrue(pod.Spec.SetHostnameAsFQDN) && full != "" {
		return full, full
	}
	return host, full
}

func protocol(p corev1.Protocol) runtimeapi.Protocol {
	switch p {
	case corev1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case corev1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	}
	return runtimeapi.Protocol_TCP
}
