package validation

import (
	"fmt"
	"net"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Node checks a node.
func Node(node *corev1.Node) field.ErrorList {
	p := field.NewPath("spec")
	errs := taints(node.Spec.Taints, p.Child("taints"))
	for i, cidr := range node.Spec.PodCIDRs {
		errs = append(errs, validation.IsValidCIDR(p.Child("podCIDRs").Index(i), cidr)...)
	}
	if len(node.Spec.PodCIDRs) > 2 {
		errs = append(errs, field.Invalid(p.Child("podCIDRs"), node.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family"))
	} else if len(node.Spec.PodCIDRs) == 2 && isIPv6(node.Spec.PodCIDRs[0]) == isIPv6(node.Spec.PodCIDRs[1]) {
		errs = append(errs, field.Invalid(p.Child("podCIDRs"), node.Spec.PodCIDRs, "may specify no more than one CIDR for each IP family"))
	}
	return append(errs, nodeResources(node)...)
}

func nodeResources(node *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("status")
	for _, name := range resourceNames(node.Status.Capacity) {
		errs = append(errs, quantity(name, node.Status.Capacity[name], p.Child("capacity").Key(string(name)))...)
	}
	for _, name := range resourceNames(node.Status.Allocatable) {
		errs = append(errs, quantity(name, node.Status.Allocatable[name], p.Child("allocatable").Key(string(name)))...)
	}
	return errs
}

func isIPv6(cidr string) bool {
	ip, _, err := net.ParseCIDR(cidr)
	return err == nil && ip.To4() == nil
}

func taints(list []corev1.Taint, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	type id struct {
		effect corev1.TaintEffect
		key    string
	}
	seen := map[id]bool{}
	for i, t := range list {
		at := p.Index(i)
		errs = append(errs, metavalidation.ValidateLabelName(t.Key, at.Child("key"))...)
		errs = append(errs, invalid(at.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
		if t.Effect == "" {
			errs = append(errs, field.Required(at.Child("effect"), ""))
		} else {
			errs = append(errs, taintEffect(t.Effect, at.Child("effect"))...)
		}
		if seen[id{t.Effect, t.Key}] {
			duplicate := field.Duplicate(at, t)
			duplicate.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, duplicate)
		}
		seen[id{t.Effect, t.Key}] = true
	}
	return errs
}

// NodeUpdate checks what changed in a node: its pods' address range and its provider id are given once.
func NodeUpdate(node, old *corev1.Node) field.ErrorList {
	p := field.NewPath("spec")
	errs := Node(node)
	if len(old.Spec.PodCIDRs) > 0 && !equality.Semantic.DeepEqual(node.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(p.Child("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid"))
	}
	if old.Spec.ProviderID != "" && node.Spec.ProviderID != old.Spec.ProviderID {
		errs = append(errs, field.Forbidden(p.Child("providerID"), "node updates may not change providerID except from \"\" to valid"))
	}
	rest := node.Spec
	rest.PodCIDR, rest.PodCIDRs, rest.ProviderID = old.Spec.PodCIDR, old.Spec.PodCIDRs, old.Spec.ProviderID
	rest.Unschedulable, rest.Taints, rest.ConfigSource = old.Spec.Unschedulable, old.Spec.Taints, old.Spec.ConfigSource
	rest.PodPreemptionPolicy = old.Spec.PodPreemptionPolicy
	if !equality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath(""), "node updates may only change labels, taints, or capacity (or configSource, if the DynamicKubeletConfig feature gate is enabled)"))
	}
	return errs
}

// NodeStatus checks a node's new status.
func NodeStatus(node, _ *corev1.Node) field.ErrorList {
	errs := nodeResources(node)
	seen := map[corev1.NodeAddress]bool{}
	for i, a := range node.Status.Addresses {
		if seen[a] {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), fmt.Sprintf("%v", a)))
		}
		seen[a] = true
	}
	return errs
}
