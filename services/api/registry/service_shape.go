package registry

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// newService brings a service's addresses into their one form: clusterIP is the first of clusterIPs, and the families are named.
func newService(s *corev1.Service) {
	if s.Spec.ClusterIP != "" && len(s.Spec.ClusterIPs) == 0 {
		s.Spec.ClusterIPs = []string{s.Spec.ClusterIP}
	}
	nameFamilies(s)
}

func nameFamilies(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeExternalName {
		return
	}
	if s.Spec.IPFamilyPolicy == nil {
		policy := corev1.IPFamilyPolicySingleStack
		s.Spec.IPFamilyPolicy = &policy
	}
	if len(s.Spec.IPFamilies) == 0 {
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
}

// changedService keeps what was handed out to the service and the new version does not mention, and drops what its new type has no
// use for.
func changedService(s, old *corev1.Service) {
	keepAddresses(&s.Spec, &old.Spec)
	keepNodePorts(&s.Spec, &old.Spec)
	dropUnused(&s.Spec, &old.Spec)
	nameFamilies(s)
}

func hasAddress(spec *corev1.ServiceSpec) bool { return spec.Type != corev1.ServiceTypeExternalName }

func hasNodePorts(spec *corev1.ServiceSpec) bool {
	return spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer
}

func keepAddresses(spec, old *corev1.ServiceSpec) {
	if !hasAddress(spec) || !hasAddress(old) {
		if hasAddress(spec) && spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = old.ClusterIP
	}
	switch {
	case len(spec.ClusterIPs) == 0 && spec.ClusterIP == old.ClusterIP:
		spec.ClusterIPs = slices.Clone(old.ClusterIPs)
	case len(spec.ClusterIPs) == 0:
		spec.ClusterIPs = []string{spec.ClusterIP}
	case spec.ClusterIP != old.ClusterIP && slices.Equal(spec.ClusterIPs, old.ClusterIPs):
		spec.ClusterIPs = slices.Clone(spec.ClusterIPs)
		spec.ClusterIPs[0] = spec.ClusterIP
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = slices.Clone(old.IPFamilies)
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = old.IPFamilyPolicy
	}
}

func keepNodePorts(spec, old *corev1.ServiceSpec) {
	if !hasNodePorts(spec) || !hasNodePorts(old) {
		return
	}
	type served struct {
		protocol corev1.Protocol
		port     int32
	}
	had, used := map[served]int32{}, map[int32]bool{}
	for _, p := range old.Ports {
		had[served{p.Protocol, p.Port}] = p.NodePort
	}
	for _, p := range spec.Ports {
		used[p.NodePort] = true
	}
	for i := range spec.Ports {
		p := &spec.Ports[i]
		if was := had[served{p.Protocol, p.Port}]; p.NodePort == 0 && !used[was] {
			p.NodePort = was
		}
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = old.HealthCheckNodePort
	}
}

// dropUnused drops fields of the old type that the caller left as they were; what the caller set itself is for validation to refuse.
func dropUnused(spec, old *corev1.ServiceSpec) {
	if hasAddress(old) && !hasAddress(spec) {
		if spec.ClusterIP == old.ClusterIP && slices.Equal(spec.ClusterIPs, old.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		spec.IPFamilies, spec.IPFamilyPolicy, spec.InternalTrafficPolicy = nil, nil, nil
	}
	if hasNodePorts(old) && !hasNodePorts(spec) {
		had := map[int32]bool{}
		for _, p := range old.Ports {
			had[p.NodePort] = true
		}
		for i := range spec.Ports {
			if had[spec.Ports[i].NodePort] {
				spec.Ports[i].NodePort = 0
			}
		}
		if spec.ExternalTrafficPolicy == old.ExternalTrafficPolicy && len(spec.ExternalIPs) == 0 {
			spec.ExternalTrafficPolicy = ""
		}
	}
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if !balanced || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		if spec.HealthCheckNodePort == old.HealthCheckNodePort {
			spec.HealthCheckNodePort = 0
		}
	}
	if old.Type == corev1.ServiceTypeLoadBalancer && !balanced {
		if valueOr(spec.AllocateLoadBalancerNodePorts, true) == valueOr(old.AllocateLoadBalancerNodePorts, true) {
			spec.AllocateLoadBalancerNodePorts = nil
		}
		if valueOr(spec.LoadBalancerClass, "") == valueOr(old.LoadBalancerClass, "") {
			spec.LoadBalancerClass = nil
		}
	}
}
