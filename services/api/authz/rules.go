package authz

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// allows says whether one rule lets a pass.
func allows(r *rbacv1.PolicyRule, a *Attributes) bool {
	if !has(r.Verbs, a.Verb) {
		return false
	}
	if !a.IsResource() {
		return matchesPath(r.NonResourceURLs, a.Path)
	}
	return has(r.APIGroups, a.Group) && matchesResource(r.Resources, a) &&
		(len(r.ResourceNames) == 0 || a.Name != "" && slices.Contains(r.ResourceNames, a.Name))
}

// has is membership in a list in which * stands for all.
func has(list []string, s string) bool {
	for _, e := range list {
		if e == rbacv1.VerbAll || e == s {
			return true
		}
	}
	return false
}

// matchesResource knows "pods", "pods/log", "*/scale" and "*".
func matchesResource(list []string, a *Attributes) bool {
	for _, e := range list {
		if e == rbacv1.ResourceAll {
			return true
		}
		if a.Subresource == "" {
			if e == a.Resource {
				return true
			}
			continue
		}
		resource, sub, ok := strings.Cut(e, "/")
		if ok && sub == a.Subresource && (resource == a.Resource || resource == "*") {
			return true
		}
	}
	return false
}

// matchesPath knows exact paths and those that end in *.
func matchesPath(list []string, path string) bool {
	for _, e := range list {
		if e == path || e == rbacv1.NonResourceAll {
			return true
		}
		if prefix, ok := strings.CutSuffix(e, "*"); ok && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
