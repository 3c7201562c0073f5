package validation

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Role checks a role.
func Role(r *rbacv1.Role) field.ErrorList {
	return policyRules(r.Rules, true, field.NewPath("rules"))
}

// ClusterRole checks a cluster role, which may be made of others.
func ClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	errs := policyRules(r.Rules, false, field.NewPath("rules"))
	if r.AggregationRule == nil {
		return errs
	}
	p := field.NewPath("aggregationRule", "clusterRoleSelectors")
	if len(r.AggregationRule.ClusterRoleSelectors) == 0 {
		return append(errs, field.Required(p, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
	}
	for i := range r.AggregationRule.ClusterRoleSelectors {
		errs = append(errs, metavalidation.ValidateLabelSelector(&r.AggregationRule.ClusterRoleSelectors[i], metavalidation.LabelSelectorValidationOptions{}, p.Index(i))...)
	}
	return errs
}

func policyRules(rules []rbacv1.PolicyRule, namespaced bool, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range rules {
		r, at := &rules[i], p.Index(i)
		if len(r.Verbs) == 0 {
			errs = append(errs, field.Required(at.Child("verbs"), "verbs must contain at least one value"))
		}
		if len(r.NonResourceURLs) > 0 {
			if namespaced {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), r.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"))
			}
			if len(r.APIGroups)+len(r.Resources)+len(r.ResourceNames) > 0 {
				errs = append(errs, field.Invalid(at.Child("nonResourceURLs"), r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs"))
			}
			continue
		}
		if len(r.APIGroups) == 0 {
			errs = append(errs, field.Required(at.Child("apiGroups"), "resource rules must supply at least one api group"))
		}
		if len(r.Resources) == 0 {
			errs = append(errs, field.Required(at.Child("resources"), "resource rules must supply at least one resource"))
		}
	}
	return errs
}

// RoleBinding checks a role binding.
func RoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	return binding(b.RoleRef, b.Subjects, true, "Role", "ClusterRole")
}

// RoleBindingUpdate checks what changed in a role binding: not the role.
func RoleBindingUpdate(b, old *rbacv1.RoleBinding) field.ErrorList {
	return append(RoleBinding(b), sameRole(b.RoleRef, old.RoleRef)...)
}

// ClusterRoleBinding checks a cluster role binding.
func ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	return binding(b.RoleRef, b.Subjects, false, "ClusterRole")
}

// ClusterRoleBindingUpdate checks what changed in a cluster role binding: not the role.
func ClusterRoleBindingUpdate(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return append(ClusterRoleBinding(b), sameRole(b.RoleRef, old.RoleRef)...)
}

func sameRole(now, old rbacv1.RoleRef) field.ErrorList {
	if now != old {
		return field.ErrorList{field.Invalid(field.NewPath("roleRef"), now, "cannot change roleRef")}
	}
	return nil
}

func binding(role rbacv1.RoleRef, subjects []rbacv1.Subject, namespaced bool, kinds ...string) field.ErrorList {
	p := field.NewPath("roleRef")
	errs := oneOf(role.APIGroup, p.Child("apiGroup"), rbacv1.GroupName)
	errs = append(errs, oneOf(role.Kind, p.Child("kind"), kinds...)...)
	if role.Name == "" {
		errs = append(errs, field.Required(p.Child("name"), ""))
	} else {
		errs = append(errs, invalid(p.Child("name"), role.Name, path.IsValidPathSegmentName(role.Name))...)
	}
	for i := range subjects {
		errs = append(errs, subject(&subjects[i], namespaced, field.NewPath("subjects").Index(i))...)
	}
	return errs
}

func subject(s *rbacv1.Subject, namespaced bool, p *field.Path) field.ErrorList {
	errs := required(s.Name, p.Child("name"))
	switch s.Kind {
	case rbacv1.ServiceAccountKind:
		if s.Name != "" {
			errs = append(errs, dnsSubdomain(s.Name, p.Child("name"))...)
		}
		errs = append(errs, oneOf(s.APIGroup, p.Child("apiGroup"), "")...)
		if !namespaced && s.Namespace == "" {
			errs = append(errs, field.Required(p.Child("namespace"), ""))
		}
	case rbacv1.UserKind, rbacv1.GroupKind:
		errs = append(errs, oneOf(s.APIGroup, p.Child("apiGroup"), rbacv1.GroupName)...)
	default:
		errs = append(errs, field.NotSupported(p.Child("kind"), s.Kind, []string{rbacv1.ServiceAccountKind, rbacv1.UserKind, rbacv1.GroupKind}))
	}
	return errs
}
