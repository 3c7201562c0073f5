package endpointslice

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/controllers/owner"
)

// group is the endpoints of one address family that listen on the same ports; named ports can differ from pod to pod.
type group struct {
	addressType discoveryv1.AddressType
	ports       []discoveryv1.EndpointPort
	endpoints   []discoveryv1.Endpoint
}

// addressable tells whether the pod can be an endpoint at all: it has an address and has not ended. One that is being deleted still is,
// marked as terminating.
func addressable(pod *corev1.Pod) bool {
	return !owner.Terminal(pod) && (pod.Status.PodIP != "" || len(pod.Status.PodIPs) > 0)
}

// desired is the set of endpoints of the Service, in groups.
func (e *endpointSlices) desired(svc *corev1.Service, pods []*corev1.Pod) []group {
	var groups []group
	for _, family := range addressTypes(svc) {
		for _, pod := range pods {
			address := addressOf(pod, family)
			if address == "" {
				continue
			}
			ports := portsOf(svc, pod)
			at := slices.IndexFunc(groups, func(g group) bool { return g.addressType == family && samePorts(g.ports, ports) })
			if at < 0 {
				at = len(groups)
				groups = append(groups, group{addressType: family, ports: ports})
			}
			groups[at].endpoints = append(groups[at].endpoints, e.endpoint(svc, pod, address))
		}
	}
	for _, g := range groups {
		slices.SortFunc(g.endpoints, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.TargetRef.Name, b.TargetRef.Name) })
	}
	return groups
}

func (e *endpointSlices) endpoint(svc *corev1.Service, pod *corev1.Pod, address string) discoveryv1.Endpoint {
	serving, terminating := owner.Ready(pod), pod.DeletionTimestamp != nil
	// publishNotReadyAddresses takes everything as ready, also what is terminating.
	ready := svc.Spec.PublishNotReadyAddresses || serving && !terminating
	ep := discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.Spec.NodeName != "" {
		ep.NodeName = ptr.To(pod.Spec.NodeName)
		if node, ok := e.Nodes.Get(pod.Spec.NodeName); ok {
			if zone := node.Labels[corev1.LabelTopologyZone]; zone != "" {
				ep.Zone = &zone
			}
		}
	}
	if hasHostname(svc, pod) {
		ep.Hostname = ptr.To(pod.Spec.Hostname)
	}
	return ep
}

// hasHostname tells whether the pod has a DNS name of its own under the Service.
func hasHostname(svc *corev1.Service, pod *corev1.Pod) bool {
	return pod.Spec.Hostname != "" && pod.Spec.Subdomain == svc.Name
}

func addressTypes(svc *corev1.Service) []discoveryv1.AddressType {
	var types []discoveryv1.AddressType
	for _, f := range svc.Spec.IPFamilies {
		switch f {
		case corev1.IPv4Protocol:
			types = append(types, discoveryv1.AddressTypeIPv4)
		case corev1.IPv6Protocol:
			types = append(types, discoveryv1.AddressTypeIPv6)
		}
	}
	if len(types) > 0 {
		return types
	}
	// Families are filled in when addresses are allocated; a Service without any tells its own by its address.
	if ip, err := netip.ParseAddr(svc.Spec.ClusterIP); err == nil && ip.Is6() {
		return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv6}
	}
	return []discoveryv1.AddressType{discoveryv1.AddressTypeIPv4}
}

func addressOf(pod *corev1.Pod, family discoveryv1.AddressType) string {
	ips := pod.Status.PodIPs
	if len(ips) == 0 {
		ips = []corev1.PodIP{{IP: pod.Status.PodIP}}
	}
	for _, p := range ips {
		if ip, err := netip.ParseAddr(p.IP); err == nil && ip.Is4() == (family == discoveryv1.AddressTypeIPv4) {
			return p.IP
		}
	}
	return ""
}

// portsOf are the Service's ports as the pod has them; a named port that the pod does not have is left out.
func portsOf(svc *corev1.Service, pod *corev1.Pod) []discoveryv1.EndpointPort {
	ports := []discoveryv1.EndpointPort{}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		number, ok := portNumber(p, pod)
		if !ok {
			continue
		}
		ports = append(ports, discoveryv1.EndpointPort{
			Name: ptr.To(p.Name), Protocol: ptr.To(cmp.Or(p.Protocol, corev1.ProtocolTCP)), Port: &number, AppProtocol: p.AppProtocol,
		})
	}
	return ports
}

func portNumber(p *corev1.ServicePort, pod *corev1.Pod) (int32, bool) {
	if p.TargetPort.Type == intstr.Int {
		return cmp.Or(p.TargetPort.IntVal, p.Port), true
	}
	protocol := cmp.Or(p.Protocol, corev1.ProtocolTCP)
	containers := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, c)
		}
	}
	for _, c := range containers {
		for _, cp := range c.Ports {
			if cp.Name == p.TargetPort.StrVal && cmp.Or(cp.Protocol, corev1.ProtocolTCP) == protocol {
				return cp.ContainerPort, true
			}
		}
	}
	return 0, false
}

func samePorts(a, b []discoveryv1.EndpointPort) bool {
	return slices.EqualFunc(a, b, func(x, y discoveryv1.EndpointPort) bool {
		return ptr.Equal(x.Name, y.Name) && ptr.Equal(x.Protocol, y.Protocol) && ptr.Equal(x.Port, y.Port) && ptr.Equal(x.AppProtocol, y.AppProtocol)
	})
}
