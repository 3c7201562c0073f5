package validation

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// headless is the cluster address of a service that has none.
const headless = corev1.ClusterIPNone

// maxAffinitySeconds is the longest time that a client is kept on one pod: a day.
const maxAffinitySeconds = 86400

// Service checks a service.
func Service(s *corev1.Service) field.ErrorList {
	p, spec := field.NewPath("spec"), &s.Spec
	var errs field.ErrorList
	isHeadless := spec.ClusterIP == headless
	if len(spec.Ports) == 0 && !isHeadless && spec.Type != corev1.ServiceTypeExternalName {
		errs = append(errs, field.Required(p.Child("ports"), ""))
	}
	switch spec.Type {
	case corev1.ServiceTypeLoadBalancer:
		if isHeadless {
			errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), spec.ClusterIP, "may not be set to 'None' for LoadBalancer services"))
		}
	case corev1.ServiceTypeNodePort:
		if isHeadless {
			errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), spec.ClusterIP, "may not be set to 'None' for NodePort services"))
		}
	case corev1.ServiceTypeExternalName:
		if len(spec.ClusterIPs) > 0 || spec.ClusterIP != "" {
			errs = append(errs, field.Forbidden(p.Child("clusterIPs"), "may not be set for ExternalName services"))
		}
		errs = append(errs, externalName(spec.ExternalName, p.Child("externalName"))...)
	}
	errs = append(errs, servicePorts(spec, p.Child("ports"))...)
	errs = append(errs, metavalidation.ValidateLabels(spec.Selector, p.Child("selector"))...)
	errs = append(errs, requiredOneOf(spec.SessionAffinity, p.Child("sessionAffinity"), corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone)...)
	errs = append(errs, affinityConfig(spec, p.Child("sessionAffinityConfig"))...)
	errs = append(errs, clusterIPs(spec, p)...)
	for i, ip := range spec.ExternalIPs {
		at := p.Child("externalIPs").Index(i)
		if found := validation.IsValidIP(at, ip); len(found) > 0 {
			errs = append(errs, found...)
		} else {
			errs = append(errs, endpointIP(ip, at)...)
		}
	}
	errs = append(errs, requiredOneOf(spec.Type, p.Child("type"), corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeNodePort)...)
	return append(errs, trafficPolicies(spec, p)...)
}

func externalName(name string, p *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	if name[len(name)-1] == '.' { // fully qualified
		name = name[:len(name)-1]
	}
	return dnsSubdomain(name, p)
}

func servicePorts(spec *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	type served struct {
		protocol corev1.Protocol
		port     int32
	}
	ports, nodePorts := map[served]bool{}, map[served]bool{}
	for i := range spec.Ports {
		port, at := &spec.Ports[i], p.Index(i)
		if port.Name == "" && len(spec.Ports) > 1 {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else if port.Name != "" {
			errs = append(errs, dnsLabel(port.Name, at.Child("name"))...)
			if names.Has(port.Name) {
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		}
		errs = append(errs, portNumber(port.Port, at.Child("port"))...)
		errs = append(errs, requiredOneOf(port.Protocol, at.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		errs = append(errs, portNumberOrName(port.TargetPort, at.Child("targetPort"))...)
		if port.AppProtocol != nil {
			errs = append(errs, invalid(at.Child("appProtocol"), *port.AppProtocol, validation.IsQualifiedName(*port.AppProtocol))...)
		}
		if port.NodePort != 0 && spec.Type == corev1.ServiceTypeClusterIP {
			errs = append(errs, field.Forbidden(at.Child("nodePort"), "may not be used when `type` is 'ClusterIP'"))
		}
		if id := (served{port.Protocol, port.Port}); ports[id] {
			errs = append(errs, field.Duplicate(at, corev1.ServicePort{Protocol: port.Protocol, Port: port.Port}))
		} else {
			ports[id] = true
		}
		if port.NodePort == 0 {
			continue
		}
		if id := (served{port.Protocol, port.NodePort}); nodePorts[id] {
			errs = append(errs, field.Duplicate(at.Child("nodePort"), port.NodePort))
		} else {
			nodePorts[id] = true
		}
	}
	return errs
}

func affinityConfig(spec *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	c := spec.SessionAffinityConfig
	switch spec.SessionAffinity {
	case corev1.ServiceAffinityClientIP:
		if c == nil || c.ClientIP == nil || c.ClientIP.TimeoutSeconds == nil {
			return field.ErrorList{field.Required(p, fmt.Sprintf("when session affinity type is %s", corev1.ServiceAffinityClientIP))}
		}
		if s := *c.ClientIP.TimeoutSeconds; s <= 0 || s > maxAffinitySeconds {
			return field.ErrorList{field.Invalid(p.Child("clientIP", "timeoutSeconds"), s, fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds))}
		}
	case corev1.ServiceAffinityNone:
		if c != nil {
			return field.ErrorList{field.Forbidden(p, fmt.Sprintf("must not be set when session affinity is %s", corev1.ServiceAffinityNone))}
		}
	}
	return nil
}

func clusterIPs(spec *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("clusterIPs")
	for i, family := range spec.IPFamilies {
		errs = append(errs, oneOf(family, p.Child("ipFamilies").Index(i), corev1.IPv4Protocol, corev1.IPv6Protocol)...)
		if slices.Contains(spec.IPFamilies[:i], family) {
			errs = append(errs, field.Duplicate(p.Child("ipFamilies").Index(i), family))
		}
	}
	if spec.IPFamilyPolicy != nil {
		errs = append(errs, oneOf(*spec.IPFamilyPolicy, p.Child("ipFamilyPolicy"), corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack)...)
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		return errs
	}
	if len(spec.ClusterIPs) > 0 && spec.ClusterIP != spec.ClusterIPs[0] {
		return append(errs, field.Invalid(p.Child("clusterIPs"), spec.ClusterIPs, "first value must match `clusterIP`"))
	}
	if spec.ClusterIP == headless && len(spec.ClusterIPs) > 1 {
		return append(errs, field.Invalid(at, spec.ClusterIPs, "'None' must be the first and only value"))
	}
	if len(spec.ClusterIPs) > 2 {
		errs = append(errs, field.Invalid(at, spec.ClusterIPs, "may only hold up to 2 values"))
	}
	for i, ip := range spec.ClusterIPs {
		if i == 0 && ip == headless {
			continue
		}
		if i > 0 && ip == headless {
			errs = append(errs, field.Invalid(at.Index(i), ip, "'None' must be the first and only value"))
			continue
		}
		errs = append(errs, validation.IsValidIP(at.Index(i), ip)...)
	}
	return errs
}

func trafficPolicies(spec *corev1.ServiceSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	outside := spec.Type == corev1.ServiceTypeLoadBalancer || spec.Type == corev1.ServiceTypeNodePort ||
		spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
	switch {
	case spec.ExternalTrafficPolicy != "" && !outside:
		errs = append(errs, field.Invalid(p.Child("externalTrafficPolicy"), spec.ExternalTrafficPolicy, "may only be set for externally-accessible services"))
	case outside:
		errs = append(errs, requiredOneOf(spec.ExternalTrafficPolicy, p.Child("externalTrafficPolicy"), corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal)...)
	}
	if policy := spec.InternalTrafficPolicy; policy != nil {
		errs = append(errs, oneOf(*policy, p.Child("internalTrafficPolicy"), corev1.ServiceInternalTrafficPolicyCluster, corev1.ServiceInternalTrafficPolicyLocal)...)
	}
	balanced := spec.Type == corev1.ServiceTypeLoadBalancer
	if len(spec.LoadBalancerSourceRanges) > 0 {
		if !balanced {
			errs = append(errs, field.Forbidden(p.Child("LoadBalancerSourceRanges"), "may only be used when `type` is 'LoadBalancer'"))
		}
		for i, cidr := range spec.LoadBalancerSourceRanges {
			errs = append(errs, validation.IsValidCIDR(p.Child("LoadBalancerSourceRanges").Index(i), cidr)...)
		}
	}
	if spec.AllocateLoadBalancerNodePorts != nil && !balanced {
		errs = append(errs, field.Forbidden(p.Child("allocateLoadBalancerNodePorts"), "may only be used when `type` is 'LoadBalancer'"))
	}
	if class := spec.LoadBalancerClass; class != nil {
		if !balanced {
			errs = append(errs, field.Forbidden(p.Child("loadBalancerClass"), "may only be used when `type` is 'LoadBalancer'"))
		}
		errs = append(errs, invalid(p.Child("loadBalancerClass"), *class, validation.IsQualifiedName(*class))...)
	}
	if port := spec.HealthCheckNodePort; port != 0 {
		errs = append(errs, portNumber(port, p.Child("healthCheckNodePort"))...)
		if !balanced || spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
			errs = append(errs, field.Invalid(p.Child("healthCheckNodePort"), port, "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
		}
	}
	if d := spec.TrafficDistribution; d != nil {
		errs = append(errs, oneOf(*d, p.Child("trafficDistribution"), corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameNode, corev1.ServiceTrafficDistributionPreferSameZone)...)
	}
	return errs
}

// ServiceUpdate checks what changed in a service: the cluster's address stays as long as it is one that clients reach.
func ServiceUpdate(s, old *corev1.Service) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("spec")
	if s.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		if old.Spec.ClusterIP != "" && s.Spec.ClusterIP != old.Spec.ClusterIP {
			errs = append(errs, field.Invalid(p.Child("clusterIPs").Index(0), s.Spec.ClusterIPs, "may not change once set"))
		}
		if n := min(len(s.Spec.IPFamilies), len(old.Spec.IPFamilies)); n > 0 && s.Spec.IPFamilies[0] != old.Spec.IPFamilies[0] {
			errs = append(errs, field.Invalid(p.Child("ipFamilies").Index(0), s.Spec.IPFamilies, "may not change once set"))
		}
	}
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer && old.Spec.Type == corev1.ServiceTypeLoadBalancer &&
		valueOr(s.Spec.LoadBalancerClass, "") != valueOr(old.Spec.LoadBalancerClass, "") {
		errs = append(errs, field.Invalid(p.Child("loadBalancerClass"), s.Spec.LoadBalancerClass, "may not change once set"))
	}
	return append(errs, Service(s)...)
}

// endpointIP refuses addresses that lead nowhere or to the host itself.
func endpointIP(value string, p *field.Path) field.ErrorList {
	ip, err := netip.ParseAddr(value)
	if err != nil {
		return field.ErrorList{field.Invalid(p, value, "must be a valid IP address")}
	}
	var errs field.ErrorList
	if ip.IsUnspecified() {
		errs = append(errs, field.Invalid(p, value, fmt.Sprintf("may not be unspecified (%v)", value)))
	}
	if ip.IsLoopback() {
		errs = append(errs, field.Invalid(p, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)"))
	}
	if ip.IsLinkLocalUnicast() {
		errs = append(errs, field.Invalid(p, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"))
	}
	if ip.IsLinkLocalMulticast() {
		errs = append(errs, field.Invalid(p, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"))
	}
	return errs
}
