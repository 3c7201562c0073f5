package authz

import (
	"fmt"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/orrery-io/orrery/services/api/authn"
)

// objects are the RBAC objects by namespace/name ("/name" at cluster scope).
type objects struct {
	roles               map[string]*rbacv1.Role
	clusterRoles        map[string]*rbacv1.ClusterRole
	roleBindings        map[string]*rbacv1.RoleBinding
	clusterRoleBindings map[string]*rbacv1.ClusterRoleBinding
}

// grant is what one binding gives one subject.
type grant struct {
	rules []rbacv1.PolicyRule
	// why names the binding and the role, for those who ask.
	why string
}

// index finds the grants of a subject. It never changes; a change of an RBAC object makes a new one. Subjects are "u:" and
// "g:" with the name of the user or group.
type index struct {
	cluster    map[string][]grant
	namespaced map[string]map[string][]grant
	decided    decisions
}

// newIndex compiles the objects. A binding to a role that does not exist grants nothing until it does.
func newIndex(o objects) *index {
	x := &index{cluster: map[string][]grant{}, namespaced: map[string]map[string][]grant{}}
	aggregated := map[string][]rbacv1.PolicyRule{}
	clusterRules := func(name string) ([]rbacv1.PolicyRule, bool) {
		role, ok := o.clusterRoles["/"+name]
		if !ok {
			return nil, false
		}
		if role.AggregationRule == nil {
			return role.Rules, true
		}
		rules, ok := aggregated[name]
		if !ok {
			rules = aggregate(role, o.clusterRoles)
			aggregated[name] = rules
		}
		return rules, true
	}
	for _, b := range o.clusterRoleBindings {
		if rules, ok := clusterRules(b.RoleRef.Name); ok && b.RoleRef.Kind == "ClusterRole" {
			for _, s := range b.Subjects {
				add(x.cluster, s, "", rules, fmt.Sprintf("RBAC: allowed by ClusterRoleBinding %q of ClusterRole %q to ", b.Name, b.RoleRef.Name))
			}
		}
	}
	for _, b := range o.roleBindings {
		var rules []rbacv1.PolicyRule
		ok := false
		switch b.RoleRef.Kind {
		case "ClusterRole":
			rules, ok = clusterRules(b.RoleRef.Name)
		case "Role":
			var role *rbacv1.Role
			if role, ok = o.roles[b.Namespace+"/"+b.RoleRef.Name]; ok {
				rules = role.Rules
			}
		}
		if !ok {
			continue
		}
		in := x.namespaced[b.Namespace]
		if in == nil {
			in = map[string][]grant{}
			x.namespaced[b.Namespace] = in
		}
		for _, s := range b.Subjects {
			add(in, s, b.Namespace, rules, fmt.Sprintf("RBAC: allowed by RoleBinding %q of %s %q to ", b.Name+"/"+b.Namespace, b.RoleRef.Kind, b.RoleRef.Name))
		}
	}
	return x
}

func add(to map[string][]grant, s rbacv1.Subject, namespace string, rules []rbacv1.PolicyRule, why string) {
	key := ""
	switch s.Kind {
	case rbacv1.UserKind:
		key = "u:" + s.Name
	case rbacv1.GroupKind:
		key = "g:" + s.Name
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		key = "u:" + authn.ServiceAccountPrefix + namespace + ":" + s.Name
	default:
		return
	}
	to[key] = append(to[key], grant{rules, fmt.Sprintf("%s%s %q", why, s.Kind, s.Name)})
}

// aggregate is the rules of a ClusterRole that is the sum of those its selectors match, and its own.
func aggregate(role *rbacv1.ClusterRole, all map[string]*rbacv1.ClusterRole) []rbacv1.PolicyRule {
	rules := append([]rbacv1.PolicyRule(nil), role.Rules...)
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			continue
		}
		for _, other := range all {
			if other.Name != role.Name && selector.Matches(labels.Set(other.Labels)) {
				rules = append(rules, other.Rules...)
			}
		}
	}
	return rules
}

// each calls f with every grant that applies to the user in the namespace, until f says stop.
func (x *index) each(user authn.User, namespace string, f func(g *grant) (more bool)) {
	visit := func(m map[string][]grant) bool {
		if m == nil {
			return true
		}
		for i := range m["u:"+user.Name] {
			if !f(&m["u:"+user.Name][i]) {
				return false
			}
		}
		for _, name := range user.Groups {
			grants := m["g:"+name]
			for i := range grants {
				if !f(&grants[i]) {
					return false
				}
			}
		}
		return true
	}
	if visit(x.cluster) && namespace != "" {
		visit(x.namespaced[namespace])
	}
}

// decide looks for a rule that allows a.
func (x *index) decide(user authn.User, a Attributes) decision {
	key := question{user.Name, strings.Join(user.Groups, "\x00"), a}
	if d, ok := x.decided.get(key); ok {
		return d
	}
	var d decision
	x.each(user, a.Namespace, func(g *grant) bool {
		for i := range g.rules {
			if allows(&g.rules[i], &a) {
				d = decision{true, g.why}
				return false
			}
		}
		return true
	})
	x.decided.put(key, d)
	return d
}

type decision struct {
	allowed bool
	why     string
}

type question struct {
	user, groups string
	Attributes
}

// decisions remembers answers; they hold as long as the index that it is part of.
type decisions struct {
	mu sync.RWMutex
	m  map[question]decision
}

// maxDecisions bounds the memory of answers; when it is full it begins anew.
const maxDecisions = 1 << 13

func (d *decisions) get(q question) (decision, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	v, ok := d.m[q]
	return v, ok
}

func (d *decisions) put(q question, v decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.m == nil || len(d.m) >= maxDecisions {
		d.m = map[question]decision{}
	}
	d.m[q] = v
}
