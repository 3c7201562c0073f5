package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPolicy completes a policy: it concerns incoming traffic, and outgoing traffic when it has rules for it.
func NetworkPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		policyPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		policyPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func policyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		setPointer(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// IngressClass completes a class: its parameters are cluster-wide unless they say otherwise.
func IngressClass(c *networkingv1.IngressClass) {
	if c.Spec.Parameters != nil {
		setPointer(&c.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}

// EndpointSlice completes the ports of a slice.
func EndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		setPointer(&s.Ports[i].Name, "")
		setPointer(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
