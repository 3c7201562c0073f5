package authz

import (
	"context"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/authn"
)

func testIndex() *index {
	return newIndex(objects{
		clusterRoles: map[string]*rbacv1.ClusterRole{
			"/reader": {ObjectMeta: metav1.ObjectMeta{Name: "reader", Labels: map[string]string{"to": "sum"}}, Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"get", "list"}, APIGroups: []string{""}, Resources: []string{"pods", "pods/log"}},
			}},
			"/scaler": {ObjectMeta: metav1.ObjectMeta{Name: "scaler", Labels: map[string]string{"to": "sum"}}, Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"update"}, APIGroups: []string{"*"}, Resources: []string{"*/scale"}},
			}},
			"/sum": {ObjectMeta: metav1.ObjectMeta{Name: "sum"}, AggregationRule: &rbacv1.AggregationRule{
				ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{"to": "sum"}}}}},
			"/paths": {ObjectMeta: metav1.ObjectMeta{Name: "paths"}, Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"get"}, NonResourceURLs: []string{"/version", "/apis/*"}},
			}},
		},
		roles: map[string]*rbacv1.Role{
			"dev/one": {ObjectMeta: metav1.ObjectMeta{Name: "one", Namespace: "dev"}, Rules: []rbacv1.PolicyRule{
				{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"mine"}},
			}},
		},
		clusterRoleBindings: map[string]*rbacv1.ClusterRoleBinding{
			"/a": {RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "sum"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ann"}}},
			"/b": {RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "paths"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "all"}}},
			"/c": {RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "missing"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "ann"}}},
		},
		roleBindings: map[string]*rbacv1.RoleBinding{
			"dev/a": {ObjectMeta: metav1.ObjectMeta{Namespace: "dev"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "one"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "bot"}}},
			"dev/b": {ObjectMeta: metav1.ObjectMeta{Namespace: "dev"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "reader"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "bob"}}},
		},
	})
}

func TestDecide(t *testing.T) {
	ann, bob := authn.User{Name: "ann", Groups: []string{"all"}}, authn.User{Name: "bob"}
	bot := authn.User{Name: "system:serviceaccount:dev:bot"}
	x := testIndex()
	for name, tc := range map[string]struct {
		user authn.User
		a    Attributes
		want bool
	}{
		"aggregated read":            {ann, Attributes{Verb: "list", Resource: "pods", Namespace: "any"}, true},
		"aggregated scale":           {ann, Attributes{Verb: "update", Group: "apps", Resource: "deployments", Subresource: "scale"}, true},
		"scale is not the object":    {ann, Attributes{Verb: "update", Group: "apps", Resource: "deployments"}, false},
		"the object is not its log":  {ann, Attributes{Verb: "get", Resource: "pods", Subresource: "exec"}, false},
		"log":                        {ann, Attributes{Verb: "get", Resource: "pods", Subresource: "log"}, true},
		"another group":              {ann, Attributes{Verb: "list", Group: "metrics.k8s.io", Resource: "pods"}, false},
		"path":                       {ann, Attributes{Verb: "get", Path: "/apis/apps/v1"}, true},
		"path without the group":     {bob, Attributes{Verb: "get", Path: "/version"}, false},
		"own namespace":              {bob, Attributes{Verb: "get", Resource: "pods", Namespace: "dev", Name: "x"}, true},
		"other namespace":            {bob, Attributes{Verb: "get", Resource: "pods", Namespace: "prod"}, false},
		"all namespaces":             {bob, Attributes{Verb: "list", Resource: "pods"}, false},
		"named object":               {bot, Attributes{Verb: "delete", Resource: "configmaps", Namespace: "dev", Name: "mine"}, true},
		"other object":               {bot, Attributes{Verb: "delete", Resource: "configmaps", Namespace: "dev", Name: "yours"}, false},
		"no name against named rule": {bot, Attributes{Verb: "list", Resource: "configmaps", Namespace: "dev"}, false},
	} {
		for range 2 { // the second answer is remembered
			if got := x.decide(tc.user, tc.a); got.allowed != tc.want {
				t.Errorf("%s: allowed %v (%s), want %v", name, got.allowed, got.why, tc.want)
			}
		}
	}
}

func TestForbiddenReadsAsInKubernetes(t *testing.T) {
	for want, a := range map[string]Attributes{
		`pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"`:                          {Verb: "list", Resource: "pods", Namespace: "default"},
		`nodes "n" is forbidden: User "x" cannot get resource "nodes" in API group "" at the cluster scope`:                           {Verb: "get", Resource: "nodes", Name: "n"},
		`pods "p" is forbidden: User "x" cannot create resource "pods/exec" in API group "" in the namespace "d"`:                     {Verb: "create", Resource: "pods", Subresource: "exec", Namespace: "d", Name: "p"},
		`deployments.apps is forbidden: User "x" cannot create resource "deployments" in API group "apps" in the namespace "default"`: {Verb: "create", Group: "apps", Resource: "deployments", Namespace: "default"},
		`forbidden: User "x" cannot get path "/metrics"`:                                                                              {Verb: "get", Path: "/metrics"},
	} {
		err := Forbidden(authn.User{Name: "x"}, a, "")
		if err.Error() != want || !apierrors.IsForbidden(err) {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
}

func TestMastersNeedNoRule(t *testing.T) {
	r := NewRBAC(Sources{}, nil)
	if ok, _ := r.Authorize(context.Background(), authn.User{Groups: []string{authn.GroupMasters}}, Attributes{Verb: "delete", Resource: "nodes"}); !ok {
		t.Error("refused")
	}
	if ok, _ := r.Authorize(context.Background(), authn.User{Groups: []string{"others"}}, Attributes{Verb: "delete", Resource: "nodes"}); ok {
		t.Error("allowed without a rule")
	}
}
