package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service completes a service; addresses and ports of the cluster are handed out when it is created.
func Service(s *corev1.Service) {
	spec := &s.Spec
	set(&spec.Type, corev1.ServiceTypeClusterIP)
	sessionAffinity(spec)
	for i := range spec.Ports {
		port := &spec.Ports[i]
		set(&port.Protocol, corev1.ProtocolTCP)
		if port.TargetPort == intstr.FromInt32(0) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
	}

	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	outside := balanced || spec.Type == corev1.ServiceTypeNodePort
	if outside || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0 {
		set(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if outside || spec.Type == corev1.ServiceTypeClusterIP {
		setPointer(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if balanced {
		setPointer(&spec.AllocateLoadBalancerNodePorts, true)
		for i := range s.Status.LoadBalancer.Ingress {
			if ingress := &s.Status.LoadBalancer.Ingress[i]; ingress.IP != "" {
				setPointer(&ingress.IPMode, corev1.LoadBalancerIPModeVIP)
			}
		}
	}
}

func sessionAffinity(spec *corev1.ServiceSpec) {
	set(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case corev1.ServiceAffinityClientIP:
		c := spec.SessionAffinityConfig
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			seconds := corev1.DefaultClientIPServiceAffinitySeconds
			spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
		}
	}
}
