package validation

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func affinity(a *corev1.Affinity, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n := a.NodeAffinity; n != nil {
		errs = append(errs, nodeAffinity(n, p.Child("nodeAffinity"))...)
	}
	if t := a.PodAffinity; t != nil {
		errs = append(errs, podAffinity(t.RequiredDuringSchedulingIgnoredDuringExecution, t.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("podAffinity"))...)
	}
	if t := a.PodAntiAffinity; t != nil {
		errs = append(errs, podAffinity(t.RequiredDuringSchedulingIgnoredDuringExecution, t.PreferredDuringSchedulingIgnoredDuringExecution, p.Child("podAntiAffinity"))...)
	}
	return errs
}

func nodeAffinity(n *corev1.NodeAffinity, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if n.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		errs = append(errs, nodeSelector(n.RequiredDuringSchedulingIgnoredDuringExecution, p.Child("requiredDuringSchedulingIgnoredDuringExecution"))...)
	}
	for i, term := range n.PreferredDuringSchedulingIgnoredDuringExecution {
		at := p.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, weight(term.Weight, at)...)
		errs = append(errs, nodeSelectorTerm(&term.Preference, at.Child("preference"))...)
	}
	return errs
}

func weight(w int32, p *field.Path) field.ErrorList {
	if w <= 0 || w > 100 {
		return field.ErrorList{field.Invalid(p.Child("weight"), w, "must be in the range 1-100")}
	}
	return nil
}

func nodeSelector(s *corev1.NodeSelector, p *field.Path) field.ErrorList {
	terms := p.Child("nodeSelectorTerms")
	if len(s.NodeSelectorTerms) == 0 {
		return field.ErrorList{field.Required(terms, "must have at least one node selector term")}
	}
	var errs field.ErrorList
	for i := range s.NodeSelectorTerms {
		errs = append(errs, nodeSelectorTerm(&s.NodeSelectorTerms[i], terms.Index(i))...)
	}
	return errs
}

func nodeSelectorTerm(t *corev1.NodeSelectorTerm, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range t.MatchExpressions {
		errs = append(errs, nodeExpression(&t.MatchExpressions[i], p.Child("matchExpressions").Index(i))...)
	}
	for i := range t.MatchFields {
		errs = append(errs, nodeField(&t.MatchFields[i], p.Child("matchFields").Index(i))...)
	}
	return errs
}

func nodeExpression(r *corev1.NodeSelectorRequirement, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	values := p.Child("values")
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) == 0 {
			errs = append(errs, field.Required(values, "must be specified when `operator` is 'In' or 'NotIn'"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			errs = append(errs, field.Forbidden(values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(values, "must be specified single value when `operator` is 'Lt' or 'Gt'"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	errs = append(errs, metavalidation.ValidateLabelName(r.Key, p.Child("key"))...)
	for i, v := range r.Values {
		errs = append(errs, invalid(values.Index(i), v, validation.IsValidLabelValue(v))...)
	}
	return errs
}

// nodeField checks a term over a node's fields, of which there is one: its name.
func nodeField(r *corev1.NodeSelectorRequirement, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(r.Values) != 1 {
			errs = append(errs, field.Required(p.Child("values"), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"))
		}
	default:
		errs = append(errs, field.Invalid(p.Child("operator"), r.Operator, "not a valid selector operator"))
	}
	if r.Key != metav1.ObjectNameField {
		return append(errs, field.Invalid(p.Child("key"), r.Key, "not a valid field selector key"))
	}
	for i, v := range r.Values {
		errs = append(errs, invalid(p.Child("values").Index(i), v, validation.IsDNS1123Subdomain(v))...)
	}
	return errs
}

func podAffinity(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range hard {
		errs = append(errs, affinityTerm(&hard[i], p.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	for i := range soft {
		at := p.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, weight(soft[i].Weight, at)...)
		errs = append(errs, affinityTerm(&soft[i].PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func affinityTerm(t *corev1.PodAffinityTerm, p *field.Path) field.ErrorList {
	errs := labelSelector(t.LabelSelector, p.Child("labelSelector"))
	errs = append(errs, labelSelector(t.NamespaceSelector, p.Child("namespaceSelector"))...)
	for _, name := range t.Namespaces {
		errs = append(errs, invalid(p.Child("namespace"), name, validation.IsDNS1123Label(name))...)
	}
	errs = append(errs, selectorKeys(t.MatchLabelKeys, t.LabelSelector, p.Child("matchLabelKeys"))...)
	errs = append(errs, selectorKeys(t.MismatchLabelKeys, t.LabelSelector, p.Child("mismatchLabelKeys"))...)
	if t.TopologyKey == "" {
		errs = append(errs, field.Required(p.Child("topologyKey"), "can not be empty"))
	}
	return append(errs, metavalidation.ValidateLabelName(t.TopologyKey, p.Child("topologyKey"))...)
}

// selectorKeys checks keys whose values are taken from the pod itself, in addition to a selector.
func selectorKeys(keys []string, s *metav1.LabelSelector, p *field.Path) field.ErrorList {
	if len(keys) == 0 {
		return nil
	}
	if s == nil {
		return field.ErrorList{field.Forbidden(p, "must not be specified when labelSelector is not set")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metavalidation.ValidateLabelName(key, p.Index(i))...)
	}
	return errs
}

func labelSelector(s *metav1.LabelSelector, p *field.Path) field.ErrorList {
	return metavalidation.ValidateLabelSelector(s, metavalidation.LabelSelectorValidationOptions{}, p)
}
