package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	resourcehelper "k8s.io/component-helpers/resource"
)

func (s *containerScope) resources(r *corev1.ResourceRequirements, p *field.Path) field.ErrorList {
	errs := requestsAndLimits(r, p, containerResource)
	seen := map[corev1.ResourceClaim]bool{}
	for i, claim := range r.Claims {
		at := p.Child("claims").Index(i)
		switch {
		case claim.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case seen[claim]:
			errs = append(errs, field.Duplicate(at, claim))
		case !s.claims.Has(claim.Name):
			errs = append(errs, field.NotFound(at.Child("name"), claim.Name))
		}
		seen[claim] = true
	}
	return errs
}

// podResources checks the requests and limits of a whole pod.
func podResources(r *corev1.ResourceRequirements, p *field.Path) field.ErrorList {
	errs := requestsAndLimits(r, p, func(name corev1.ResourceName, q resource.Quantity, at *field.Path) field.ErrorList {
		if !resourcehelper.IsSupportedPodLevelResource(name) {
			return field.ErrorList{field.NotSupported(at, name, sets.List(resourcehelper.SupportedPodLevelResources()))}
		}
		return quantity(name, q, at)
	})
	if len(r.Claims) > 0 {
		errs = append(errs, field.Forbidden(p.Child("claims"), "claims may not be set at pod level"))
	}
	return errs
}

// requestsAndLimits checks each with one, and that no more is requested than is allowed.
func requestsAndLimits(r *corev1.ResourceRequirements, p *field.Path, one func(corev1.ResourceName, resource.Quantity, *field.Path) field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	hugePages, cpuOrMemory := false, false
	note := func(name corev1.ResourceName) {
		hugePages = hugePages || isHugePages(name)
		cpuOrMemory = cpuOrMemory || name == corev1.ResourceCPU || name == corev1.ResourceMemory
	}
	for _, name := range resourceNames(r.Limits) {
		errs = append(errs, one(name, r.Limits[name], p.Child("limits").Key(string(name)))...)
		note(name)
	}
	for _, name := range resourceNames(r.Requests) {
		request := r.Requests[name]
		errs = append(errs, one(name, request, p.Child("requests").Key(string(name)))...)
		note(name)
		limit, limited := r.Limits[name]
		switch {
		case !limited && !overcommittable(name):
			errs = append(errs, field.Required(p.Child("limits"), "Limit must be set for non overcommitable resources"))
		case limited && request.Cmp(limit) != 0 && !overcommittable(name):
			errs = append(errs, field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(p.Child("requests"), request.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String())))
		}
	}
	if hugePages && !cpuOrMemory {
		errs = append(errs, field.Forbidden(p, "HugePages require cpu or memory"))
	}
	return errs
}

// resourceNames gives the errors a fixed order.
func resourceNames(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// containerResource checks one amount of a resource that containers may have.
func containerResource(name corev1.ResourceName, q resource.Quantity, p *field.Path) field.ErrorList {
	errs := resourceName(name, p)
	if !strings.Contains(string(name), "/") {
		switch {
		case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage, isHugePages(name):
		default:
			errs = append(errs, field.Invalid(p, string(name), "must be a standard resource for containers"))
		}
	} else if !isNative(name) && !isExtended(name) {
		errs = append(errs, field.Invalid(p, string(name), "doesn't follow extended resource name standard"))
	}
	return append(errs, quantity(name, q, p)...)
}

func resourceName(name corev1.ResourceName, p *field.Path) field.ErrorList {
	errs := invalid(p, string(name), validation.IsQualifiedName(string(name)))
	if len(errs) == 0 && !strings.Contains(string(name), "/") && !isStandard(name) {
		errs = append(errs, field.Invalid(p, string(name), "must be a standard resource type or fully qualified"))
	}
	return errs
}

func quantity(name corev1.ResourceName, q resource.Quantity, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if q.Sign() < 0 {
		errs = append(errs, field.Invalid(p, q.String(), negative))
	}
	if isWhole(name) && q.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(p, q.String(), "must be an integer"))
	}
	return errs
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative says whether Kubernetes itself gives the resource a meaning.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// isExtended says whether the name can be that of a resource that others advertise on nodes.
func isExtended(name corev1.ResourceName) bool {
	if isNative(name) || strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	// The name must still be one when a quota puts "requests." before it.
	return len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) == 0
}

func overcommittable(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

// isWhole says whether the resource comes in whole units only.
func isWhole(name corev1.ResourceName) bool { return countedResources[name] || isExtended(name) }

var countedResources = map[corev1.ResourceName]bool{
	corev1.ResourcePods: true, corev1.ResourceQuotas: true, corev1.ResourceServices: true, corev1.ResourceReplicationControllers: true,
	corev1.ResourceSecrets: true, corev1.ResourceConfigMaps: true, corev1.ResourcePersistentVolumeClaims: true,
	corev1.ResourceServicesNodePorts: true, corev1.ResourceServicesLoadBalancers: true,
}

var measuredResources = map[corev1.ResourceName]bool{
	corev1.ResourceCPU: true, corev1.ResourceMemory: true, corev1.ResourceEphemeralStorage: true, corev1.ResourceStorage: true,
	corev1.ResourceRequestsCPU: true, corev1.ResourceRequestsMemory: true, corev1.ResourceRequestsEphemeralStorage: true,
	corev1.ResourceLimitsCPU: true, corev1.ResourceLimitsMemory: true, corev1.ResourceLimitsEphemeralStorage: true,
	corev1.ResourceRequestsStorage: true,
}

func isStandard(name corev1.ResourceName) bool {
	return countedResources[name] || measuredResources[name] || isHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}
