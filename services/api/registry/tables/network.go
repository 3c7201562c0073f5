package tables

import (
	"fmt"
	"net"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceColumns are the columns of services.
var ServiceColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Type", "string", "How the service is made reachable."),
	column("Cluster-IP", "string", "Address of the service in the cluster."),
	column("External-IP", "string", "Addresses of the service outside of the cluster."),
	column("Port(s)", "string", "Ports of the service, with the nodes' ports that lead to them."),
	ageColumn, selectorColumn,
}

// Service is the row of a service.
func (r Rows) Service(s *corev1.Service) []any {
	ip := none
	if len(s.Spec.ClusterIPs) > 0 {
		ip = s.Spec.ClusterIPs[0]
	}
	ports := make([]string, len(s.Spec.Ports))
	for i, p := range s.Spec.Ports {
		ports[i] = fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if p.NodePort > 0 {
			ports[i] = fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
		}
	}
	return []any{
		s.Name, string(s.Spec.Type), ip, externalIP(s), or(strings.Join(ports, ","), none), r.age(s), labelsCell(s.Spec.Selector),
	}
}

func externalIP(s *corev1.Service) string {
	switch s.Spec.Type {
	case corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort:
		return or(strings.Join(s.Spec.ExternalIPs, ","), none)
	case corev1.ServiceTypeLoadBalancer:
		addresses := make([]string, 0, len(s.Status.LoadBalancer.Ingress))
		for _, i := range s.Status.LoadBalancer.Ingress {
			addresses = append(addresses, or(i.IP, i.Hostname))
		}
		return or(strings.Join(append(distinct(addresses), s.Spec.ExternalIPs...), ","), "<pending>")
	case corev1.ServiceTypeExternalName:
		return s.Spec.ExternalName
	default:
		return unknown
	}
}

// distinct sorts the strings and drops the empty and the repeated ones.
func distinct(list []string) []string {
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.DeleteFunc(list, func(s string) bool { return s == "" })
}

// EndpointsColumns are the columns of endpoints.
var EndpointsColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Endpoints", "string", "Addresses and ports that serve the service."),
	ageColumn,
}

// Endpoints is the row of endpoints.
func (r Rows) Endpoints(e *corev1.Endpoints) []any {
	cell := none
	if len(e.Subsets) > 0 {
		var list []string
		for _, s := range e.Subsets {
			for _, a := range s.Addresses {
				if len(s.Ports) == 0 {
					list = append(list, a.IP)
				}
			}
			for _, p := range s.Ports {
				for _, a := range s.Addresses {
					list = append(list, net.JoinHostPort(a.IP, itoa(p.Port)))
				}
			}
		}
		cell = firstFew(list, 3, ",")
	}
	return []any{e.Name, cell, r.age(e)}
}

// EndpointSliceColumns are the columns of endpoint slices.
var EndpointSliceColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("AddressType", "string", "What the addresses are: IPv4, IPv6 or FQDN."),
	column("Ports", "string", "Ports of every endpoint."),
	column("Endpoints", "string", "Addresses of the endpoints."),
	ageColumn,
}

// EndpointSlice is the row of an endpoint slice.
func (r Rows) EndpointSlice(s *discoveryv1.EndpointSlice) []any {
	var ports, addresses []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, itoa(*p.Port))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return []any{
		s.Name, string(s.AddressType), or(firstFew(ports, 3, ","), unset), or(firstFew(addresses, 3, ","), unset), r.age(s),
	}
}

// IngressColumns are the columns of ingresses.
var IngressColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Class", "string", "Ingress class that serves the ingress."),
	column("Hosts", "string", "Hosts that the rules are for."),
	column("Address", "string", "Addresses under which the ingress is reachable."),
	column("Ports", "string", "Ports under which the ingress is reachable."),
	ageColumn,
}

// Ingress is the row of an ingress.
func (r Rows) Ingress(i *networkingv1.Ingress) []any {
	var addresses, hosts []string
	for _, a := range i.Status.LoadBalancer.Ingress {
		addresses = append(addresses, or(a.IP, a.Hostname))
	}
	for _, rule := range i.Spec.Rules {
		if rule.Host != "" {
			hosts = append(hosts, rule.Host)
		}
	}
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return []any{
		i.Name, pointerOr(i.Spec.IngressClassName, none), or(firstFew(hosts, 3, ","), "*"),
		strings.Join(distinct(addresses), ","), ports, r.age(i),
	}
}

// IngressClassColumns are the columns of ingress classes.
var IngressClassColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Controller", "string", "Controller that serves ingresses of the class."),
	column("Parameters", "string", "Object with the controller's parameters."),
	ageColumn,
}

// IngressClass is the row of an ingress class.
func (r Rows) IngressClass(c *networkingv1.IngressClass) []any {
	parameters := none
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return []any{c.Name, c.Spec.Controller, parameters, r.age(c)}
}

// NetworkPolicyColumns are the columns of network policies.
var NetworkPolicyColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Pod-Selector", "string", "Labels of the pods that the policy is for."),
	ageColumn,
}

// NetworkPolicy is the row of a network policy.
func (r Rows) NetworkPolicy(p *networkingv1.NetworkPolicy) []any {
	return []any{p.Name, selectorCell(&p.Spec.PodSelector), r.age(p)}
}

// ServiceCIDRColumns are the columns of service address ranges.
var ServiceCIDRColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("CIDRs", "string", "Ranges that services get their addresses from."),
	ageColumn,
}

// ServiceCIDR is the row of a service address range.
func (r Rows) ServiceCIDR(c *networkingv1.ServiceCIDR) []any {
	return []any{c.Name, strings.Join(c.Spec.CIDRs, ","), r.age(c)}
}

// IPAddressColumns are the columns of service addresses.
var IPAddressColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("ParentRef", "string", "Object that has the address."),
}

// IPAddress is the row of a service address.
func (r Rows) IPAddress(a *networkingv1.IPAddress) []any {
	parent := none
	if p := a.Spec.ParentRef; p != nil {
		parts := []string{p.Resource}
		if p.Group != "" {
			parts[0] += "." + p.Group
		}
		if p.Namespace != "" {
			parts = append(parts, p.Namespace)
		}
		parent = strings.ToLower(strings.Join(append(parts, p.Name), "/"))
	}
	return []any{a.Name, parent}
}
