package validation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Pod checks a new pod.
func Pod(pod *corev1.Pod) field.ErrorList {
	spec := field.NewPath("spec")
	errs := podObject(pod)
	if len(pod.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "cannot be set on create"))
	}
	if pod.Spec.NodeName != "" && len(pod.Spec.SchedulingGates) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("nodeName"), "cannot be set until all schedulingGates have been cleared"))
	}
	return errs
}

// podObject checks what pods must keep to at any time, and what concerns them but not pod templates.
func podObject(pod *corev1.Pod) field.ErrorList {
	spec := field.NewPath("spec")
	errs := podSpec(&pod.Spec, spec)
	for i := range pod.Spec.Containers {
		errs = append(errs, trimmedImage(pod.Spec.Containers[i].Image, spec.Child("containers").Index(i).Child("image"))...)
	}
	for i := range pod.Spec.InitContainers {
		errs = append(errs, trimmedImage(pod.Spec.InitContainers[i].Image, spec.Child("initContainers").Index(i).Child("image"))...)
	}
	if pod.Spec.ServiceAccountName != "" {
		return errs
	}
	for i := range pod.Spec.Volumes {
		if p := pod.Spec.Volumes[i].Projected; p != nil {
			for j := range p.Sources {
				if p.Sources[j].ServiceAccountToken != nil {
					at := spec.Child("volumes").Index(i).Child("projected").Child("sources").Index(j).Child("serviceAccountToken")
					errs = append(errs, field.Forbidden(at, "must not be specified when serviceAccountName is not set"))
				}
			}
		}
	}
	return errs
}

func trimmedImage(image string, p *field.Path) field.ErrorList {
	if image != strings.TrimSpace(image) {
		return field.ErrorList{field.Invalid(p, image, "must not have leading or trailing whitespace")}
	}
	return nil
}

// PodTemplate checks a v1 PodTemplate.
func PodTemplate(t *corev1.PodTemplate) field.ErrorList {
	return podTemplateSpec(&t.Template, field.NewPath("template"))
}

func podTemplateSpec(t *corev1.PodTemplateSpec, p *field.Path) field.ErrorList {
	errs := metavalidation.ValidateLabels(t.Labels, p.Child("metadata", "labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(t.Annotations, p.Child("metadata", "annotations"))...)
	errs = append(errs, podSpec(&t.Spec, p.Child("spec"))...)
	if len(t.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(p.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

func podSpec(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	volumes, errs := podVolumes(spec.Volumes, p.Child("volumes"))
	claims, claimErrs := resourceClaims(spec.ResourceClaims, p.Child("resourceClaims"))
	errs = append(errs, claimErrs...)
	scope := containerScope{volumes: volumes, claims: claims, gracePeriod: valueOr(spec.TerminationGracePeriodSeconds, 0), names: sets.New[string]()}
	errs = append(errs, scope.containers(spec.Containers, p.Child("containers"))...)
	errs = append(errs, scope.initContainers(spec.InitContainers, p.Child("initContainers"))...)
	errs = append(errs, scope.ephemeralContainers(spec.EphemeralContainers, spec, p.Child("ephemeralContainers"))...)
	errs = append(errs, hostNetworkPorts(spec, p)...)
	errs = append(errs, requiredOneOf(spec.RestartPolicy, p.Child("restartPolicy"), corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, requiredOneOf(spec.DNSPolicy, p.Child("dnsPolicy"), corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, metavalidation.ValidateLabels(spec.NodeSelector, p.Child("nodeSelector"))...)
	errs = append(errs, podSecurityContext(spec, p.Child("securityContext"))...)
	if spec.Affinity != nil {
		errs = append(errs, affinity(spec.Affinity, p.Child("affinity"))...)
	}
	errs = append(errs, dnsConfig(spec, p.Child("dnsConfig"))...)
	for i, gate := range spec.ReadinessGates {
		errs = append(errs, invalid(p.Child("readinessGates").Index(i).Child("conditionType"), string(gate.ConditionType), validation.IsQualifiedName(string(gate.ConditionType)))...)
	}
	errs = append(errs, schedulingGates(spec.SchedulingGates, p.Child("schedulingGates"))...)
	errs = append(errs, topologySpread(spec.TopologySpreadConstraints, p.Child("topologySpreadConstraints"))...)
	errs = append(errs, podIdentity(spec, p)...)
	errs = append(errs, tolerations(spec.Tolerations, p.Child("tolerations"))...)
	errs = append(errs, hostAliases(spec.HostAliases, p.Child("hostAliases"))...)
	errs = append(errs, podPriority(spec, p)...)
	if spec.Resources != nil {
		errs = append(errs, podResources(spec.Resources, p.Child("resources"))...)
	}
	return errs
}

// podIdentity checks names and limits of the pod as a whole.
func podIdentity(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name := spec.ServiceAccountName; name != "" {
		errs = append(errs, invalid(p.Child("serviceAccountName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	if name := spec.NodeName; name != "" {
		errs = append(errs, invalid(p.Child("nodeName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	if s := spec.ActiveDeadlineSeconds; s != nil && (*s < 1 || *s > math.MaxInt32) {
		errs = append(errs, field.Invalid(p.Child("activeDeadlineSeconds"), *s, validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	if spec.Hostname != "" {
		errs = append(errs, dnsLabel(spec.Hostname, p.Child("hostname"))...)
	}
	if spec.Subdomain != "" {
		errs = append(errs, dnsLabel(spec.Subdomain, p.Child("subdomain"))...)
	}
	if name := spec.RuntimeClassName; name != nil {
		errs = append(errs, invalid(p.Child("runtimeClassName"), *name, validation.IsDNS1123Subdomain(*name))...)
	}
	if spec.OS != nil {
		errs = append(errs, requiredOneOf(spec.OS.Name, p.Child("os", "name"), corev1.Linux, corev1.Windows)...)
	}
	return errs
}

func podPriority(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if name := spec.PriorityClassName; name != "" {
		errs = append(errs, invalid(p.Child("priorityClassName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	if spec.PreemptionPolicy != nil {
		errs = append(errs, requiredOneOf(*spec.PreemptionPolicy, p.Child("preemptionPolicy"), corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	for name, q := range spec.Overhead {
		errs = append(errs, containerResource(name, q, p.Child("overhead").Key(string(name)))...)
	}
	return errs
}

// hostNetworkPorts: in the host's network a container's port is the host's port.
func hostNetworkPorts(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	if !spec.HostNetwork {
		return nil
	}
	var errs field.ErrorList
	for i := range spec.Containers {
		for j, port := range spec.Containers[i].Ports {
			// A template's host ports are filled in when a pod is made of it.
			if port.HostPort != 0 && port.HostPort != port.ContainerPort {
				at := p.Child("containers").Index(i).Child("ports").Index(j).Child("containerPort")
				errs = append(errs, field.Invalid(at, port.ContainerPort, "must match `hostPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

func hostAliases(list []corev1.HostAlias, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, alias := range list {
		errs = append(errs, validation.IsValidIP(p.Index(i).Child("ip"), alias.IP)...)
		for j, name := range alias.Hostnames {
			errs = append(errs, dnsSubdomain(name, p.Index(i).Child("hostnames").Index(j))...)
		}
	}
	return errs
}

func schedulingGates(gates []corev1.PodSchedulingGate, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, gate := range gates {
		errs = append(errs, invalid(p.Index(i), gate.Name, validation.IsQualifiedName(gate.Name))...)
		if seen.Has(gate.Name) {
			errs = append(errs, field.Duplicate(p.Index(i), gate.Name))
		}
		seen.Insert(gate.Name)
	}
	return errs
}

// Kubernetes' limits on a pod's own DNS settings.
const (
	maxNameservers = 3
	maxSearchPaths = 32
	maxSearchChars = 2048
)

func dnsConfig(spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	c := spec.DNSConfig
	if spec.DNSPolicy == corev1.DNSNone {
		if c == nil {
			return field.ErrorList{field.Required(p, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))}
		}
		if len(c.Nameservers) == 0 {
			errs = append(errs, field.Required(p.Child("nameservers"), fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone)))
		}
	}
	if c == nil {
		return errs
	}
	if len(c.Nameservers) > maxNameservers {
		errs = append(errs, field.Invalid(p.Child("nameservers"), c.Nameservers, fmt.Sprintf("must not have more than %v nameservers", maxNameservers)))
	}
	for i, ns := range c.Nameservers {
		errs = append(errs, validation.IsValidIP(p.Child("nameservers").Index(i), ns)...)
	}
	if len(c.Searches) > maxSearchPaths {
		errs = append(errs, field.Invalid(p.Child("searches"), c.Searches, fmt.Sprintf("must not have more than %v search paths", maxSearchPaths)))
	}
	if len(strings.Join(c.Searches, " ")) > maxSearchChars {
		errs = append(errs, field.Invalid(p.Child("searches"), c.Searches, fmt.Sprintf("must not have more than %v characters (including spaces) in the search list", maxSearchChars)))
	}
	for i, search := range c.Searches {
		// "." alone and names with underscores are of use in a search list.
		if name := strings.TrimSuffix(search, "."); name != "" {
			errs = append(errs, invalid(p.Child("searches").Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(name))...)
		}
	}
	for i, option := range c.Options {
		if option.Name == "" {
			errs = append(errs, field.Required(p.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}

func resourceClaims(list []corev1.PodResourceClaim, p *field.Path) (sets.Set[string], field.ErrorList) {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, claim := range list {
		at := p.Index(i)
		switch {
		case claim.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case names.Has(claim.Name):
			errs = append(errs, field.Duplicate(at.Child("name"), claim.Name))
		default:
			errs = append(errs, dnsLabel(claim.Name, at.Child("name"))...)
			names.Insert(claim.Name)
		}
		if (claim.ResourceClaimName == nil) == (claim.ResourceClaimTemplateName == nil) {
			errs = append(errs, field.Invalid(at, claim, "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
	}
	return names, errs
}

func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}
