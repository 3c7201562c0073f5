package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NetworkPolicy checks a network policy.
func NetworkPolicy(n *networkingv1.NetworkPolicy) field.ErrorList {
	p, spec := field.NewPath("spec"), &n.Spec
	errs := labelSelector(&spec.PodSelector, p.Child("podSelector"))
	for i := range spec.Ingress {
		at := p.Child("ingress").Index(i)
		errs = append(errs, policyPorts(spec.Ingress[i].Ports, at.Child("ports"))...)
		errs = append(errs, policyPeers(spec.Ingress[i].From, at.Child("from"))...)
	}
	for i := range spec.Egress {
		at := p.Child("egress").Index(i)
		errs = append(errs, policyPorts(spec.Egress[i].Ports, at.Child("ports"))...)
		errs = append(errs, policyPeers(spec.Egress[i].To, at.Child("to"))...)
	}
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(p.Child("policyTypes"), &spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, t := range spec.PolicyTypes {
		errs = append(errs, oneOf(t, p.Child("policyTypes").Index(i), networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
	return errs
}

func policyPorts(list []networkingv1.NetworkPolicyPort, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, port := range list {
		at := p.Index(i)
		if port.Protocol != nil {
			errs = append(errs, oneOf(*port.Protocol, at.Child("protocol"), corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
		}
		switch {
		case port.Port == nil:
			if port.EndPort != nil {
				errs = append(errs, field.Required(at.Child("port"), "must be specified when `endPort` is specified"))
			}
		case port.Port.Type == intstr.Int:
			errs = append(errs, portNumber(port.Port.IntVal, at.Child("port"))...)
			if port.EndPort == nil {
				break
			}
			if *port.EndPort < port.Port.IntVal {
				errs = append(errs, field.Invalid(at.Child("endPort"), port.Port.IntVal, "must be greater than or equal to `port`"))
			}
			errs = append(errs, portNumber(*port.EndPort, at.Child("endPort"))...)
		default:
			if port.EndPort != nil {
				errs = append(errs, field.Invalid(at.Child("endPort"), *port.EndPort, "may not be specified when `port` is non-numeric"))
			}
			errs = append(errs, invalid(at.Child("port"), port.Port.StrVal, validation.IsValidPortName(port.Port.StrVal))...)
		}
	}
	return errs
}

func policyPeers(list []networkingv1.NetworkPolicyPeer, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, peer := range list {
		at := p.Index(i)
		if peer.PodSelector == nil && peer.NamespaceSelector == nil && peer.IPBlock == nil {
			errs = append(errs, field.Required(at, "must specify a peer"))
			continue
		}
		if peer.IPBlock != nil && (peer.PodSelector != nil || peer.NamespaceSelector != nil) {
			errs = append(errs, field.Forbidden(at, "may not specify both ipBlock and another peer"))
		}
		errs = append(errs, labelSelector(peer.PodSelector, at.Child("podSelector"))...)
		errs = append(errs, labelSelector(peer.NamespaceSelector, at.Child("namespaceSelector"))...)
		if b := peer.IPBlock; b != nil {
			if b.CIDR == "" {
				errs = append(errs, field.Required(at.Child("ipBlock", "cidr"), ""))
				continue
			}
			errs = append(errs, validation.IsValidCIDR(at.Child("ipBlock", "cidr"), b.CIDR)...)
			for j, except := range b.Except {
				errs = append(errs, validation.IsValidCIDR(at.Child("ipBlock", "except").Index(j), except)...)
			}
		}
	}
	return errs
}

// Ingress checks an ingress.
func Ingress(i *networkingv1.Ingress) field.ErrorList {
	p, spec := field.NewPath("spec"), &i.Spec
	var errs field.ErrorList
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(p, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, backend(spec.DefaultBackend, p.Child("defaultBackend"))...)
	}
	for j := range spec.Rules {
		rule, at := &spec.Rules[j], p.Child("rules").Index(j)
		switch {
		case strings.Contains(rule.Host, "*"):
			errs = append(errs, invalid(at.Child("host"), rule.Host, validation.IsWildcardDNS1123Subdomain(rule.Host))...)
		case rule.Host != "":
			errs = append(errs, dnsSubdomain(rule.Host, at.Child("host"))...)
		}
		if rule.HTTP == nil {
			continue
		}
		paths := at.Child("http", "paths")
		if len(rule.HTTP.Paths) == 0 {
			errs = append(errs, field.Required(paths, ""))
		}
		for k := range rule.HTTP.Paths {
			errs = append(errs, httpPath(&rule.HTTP.Paths[k], paths.Index(k))...)
		}
	}
	for j := range spec.TLS {
		for k, host := range spec.TLS[j].Hosts {
			at := p.Child("tls").Index(j).Child("hosts").Index(k)
			if strings.Contains(host, "*") {
				errs = append(errs, invalid(at, host, validation.IsWildcardDNS1123Subdomain(host))...)
			} else {
				errs = append(errs, dnsSubdomain(host, at)...)
			}
		}
	}
	if spec.IngressClassName != nil {
		errs = append(errs, dnsSubdomain(*spec.IngressClassName, p.Child("ingressClassName"))...)
	}
	return errs
}

func httpPath(h *networkingv1.HTTPIngressPath, p *field.Path) field.ErrorList {
	if h.PathType == nil {
		return field.ErrorList{field.Required(p.Child("pathType"), "pathType must be specified")}
	}
	var errs field.ErrorList
	switch *h.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		if !strings.HasPrefix(h.Path, "/") {
			errs = append(errs, field.Invalid(p.Child("path"), h.Path, "must be an absolute path"))
		}
		for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(h.Path, part) {
				errs = append(errs, field.Invalid(p.Child("path"), h.Path, "must not contain '"+part+"'"))
			}
		}
		for _, end := range []string{"/..", "/."} {
			if strings.HasSuffix(h.Path, end) {
				errs = append(errs, field.Invalid(p.Child("path"), h.Path, "cannot end with '"+end+"'"))
			}
		}
	case networkingv1.PathTypeImplementationSpecific:
		if h.Path != "" && !strings.HasPrefix(h.Path, "/") {
			errs = append(errs, field.Invalid(p.Child("path"), h.Path, "must be an absolute path"))
		}
	default:
		errs = append(errs, field.NotSupported(p.Child("pathType"), *h.PathType, []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific, networkingv1.PathTypePrefix}))
	}
	return append(errs, backend(&h.Backend, p.Child("backend"))...)
}

func backend(b *networkingv1.IngressBackend, p *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(p, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return nil
	case b.Service == nil:
		return field.ErrorList{field.Required(p, "port name or number is required")}
	}
	var errs field.ErrorList
	at := p.Child("service")
	if b.Service.Name == "" {
		errs = append(errs, field.Required(at.Child("name"), ""))
	} else {
		errs = append(errs, dnsLabel(b.Service.Name, at.Child("name"))...)
	}
	port := b.Service.Port
	switch {
	case port.Name != "" && port.Number != 0:
		errs = append(errs, field.Invalid(p, "", "cannot set both port name & port number"))
	case port.Name != "":
		errs = append(errs, invalid(at.Child("port", "name"), port.Name, validation.IsValidPortName(port.Name))...)
	case port.Number != 0:
		errs = append(errs, portNumber(port.Number, at.Child("port", "number"))...)
	default:
		errs = append(errs, field.Required(p, "port name or number is required"))
	}
	return errs
}
