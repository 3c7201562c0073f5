package validation

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Endpoints checks endpoints.
func Endpoints(e *corev1.Endpoints) field.ErrorList {
	var errs field.ErrorList
	for i := range e.Subsets {
		s, at := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(s.Addresses) == 0 && len(s.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(at, "must specify `addresses` or `notReadyAddresses`"))
		}
		for j := range s.Addresses {
			errs = append(errs, endpointAddress(&s.Addresses[j], at.Child("addresses").Index(j))...)
		}
		for j := range s.NotReadyAddresses {
			errs = append(errs, endpointAddress(&s.NotReadyAddresses[j], at.Child("notReadyAddresses").Index(j))...)
		}
		for j, port := range s.Ports {
			p := at.Child("ports").Index(j)
			if port.Name == "" && len(s.Ports) > 1 {
				errs = append(errs, field.Required(p.Child("name"), ""))
			} else if port.Name != "" {
				errs = append(errs, dnsLabel(port.Name, p.Child("name"))...)
			}
			errs = append(errs, portNumber(port.Port, p.Child("port"))...)
			errs = append(errs, requiredOneOf(port.Protocol, p.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
			if port.AppProtocol != nil {
				errs = append(errs, invalid(p.Child("appProtocol"), *port.AppProtocol, validation.IsQualifiedName(*port.AppProtocol))...)
			}
		}
	}
	return errs
}

func endpointAddress(a *corev1.EndpointAddress, p *field.Path) field.ErrorList {
	errs := validation.IsValidIP(p.Child("ip"), a.IP)
	if a.Hostname != "" {
		errs = append(errs, dnsLabel(a.Hostname, p.Child("hostname"))...)
	}
	if a.NodeName != nil {
		errs = append(errs, invalid(p.Child("nodeName"), *a.NodeName, validation.IsDNS1123Subdomain(*a.NodeName))...)
	}
	if len(errs) == 0 {
		errs = append(errs, endpointIP(a.IP, p.Child("ip"))...)
	}
	return errs
}

// How much an endpoint slice may hold.
const (
	maxSliceEndpoints    = 1000
	maxSlicePorts        = 20000
	maxEndpointAddresses = 100
)

// EndpointSlice checks an endpoint slice.
func EndpointSlice(s *discoveryv1.EndpointSlice) field.ErrorList {
	errs := requiredOneOf(s.AddressType, field.NewPath("addressType"), discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
	p := field.NewPath("endpoints")
	if len(s.Endpoints) > maxSliceEndpoints {
		return append(errs, field.TooMany(p, len(s.Endpoints), maxSliceEndpoints))
	}
	for i := range s.Endpoints {
		errs = append(errs, sliceEndpoint(&s.Endpoints[i], s.AddressType, p.Index(i))...)
	}
	return append(errs, slicePorts(s.Ports, field.NewPath("ports"))...)
}

func sliceEndpoint(e *discoveryv1.Endpoint, kind discoveryv1.AddressType, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	at := p.Child("addresses")
	switch {
	case len(e.Addresses) == 0:
		errs = append(errs, field.Required(at, "must contain at least 1 address"))
	case len(e.Addresses) > maxEndpointAddresses:
		errs = append(errs, field.TooMany(at, len(e.Addresses), maxEndpointAddresses))
	}
	for i, address := range e.Addresses {
		switch kind {
		case discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6:
			found := validation.IsValidIP(at.Index(i), address)
			if len(found) == 0 && strings.Contains(address, ":") != (kind == discoveryv1.AddressTypeIPv6) {
				found = append(found, field.Invalid(at.Index(i), address, fmt.Sprintf("must be an %s address", kind)))
			}
			if len(found) == 0 {
				found = endpointIP(address, at.Index(i))
			}
			errs = append(errs, found...)
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, validation.IsFullyQualifiedDomainName(at.Index(i), address)...)
		}
	}
	if e.NodeName != nil {
		errs = append(errs, invalid(p.Child("nodeName"), *e.NodeName, validation.IsDNS1123Subdomain(*e.NodeName))...)
	}
	if e.Hostname != nil {
		errs = append(errs, dnsLabel(*e.Hostname, p.Child("hostname"))...)
	}
	return errs
}

func slicePorts(list []discoveryv1.EndpointPort, p *field.Path) field.ErrorList {
	if len(list) > maxSlicePorts {
		return field.ErrorList{field.TooMany(p, len(list), maxSlicePorts)}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range list {
		at := p.Index(i)
		name := valueOr(port.Name, "")
		if name != "" {
			errs = append(errs, dnsLabel(name, at.Child("name"))...)
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at.Child("name"), name))
		}
		names.Insert(name)
		if port.Protocol == nil {
			errs = append(errs, field.Required(at.Child("protocol"), ""))
		} else {
			errs = append(errs, oneOf(*port.Protocol, at.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		}
		if port.Port != nil {
			errs = append(errs, portNumber(*port.Port, at.Child("port"))...)
		}
		if port.AppProtocol != nil {
			errs = append(errs, invalid(at.Child("appProtocol"), *port.AppProtocol, validation.IsQualifiedName(*port.AppProtocol))...)
		}
	}
	return errs
}

// EndpointSliceUpdate checks what changed in a slice: not what its addresses are.
func EndpointSliceUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	return append(EndpointSlice(s), unchanged(s.AddressType, old.AddressType, field.NewPath("addressType"))...)
}
