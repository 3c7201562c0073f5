package bootstrap

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/authn"
)

const (
	rbacGroup = "rbac.authorization.k8s.io"

	read       = "get list watch"
	write      = "create delete deletecollection patch update"
	everything = read + " " + write
)

// rule is a rule of space-separated verbs, groups ("core" is the one without a name) and resources.
func rule(verbs, groups, resources string) rbacv1.PolicyRule {
	r := rbacv1.PolicyRule{Verbs: strings.Fields(verbs), Resources: strings.Fields(resources)}
	for _, g := range strings.Fields(groups) {
		if g == "core" {
			g = ""
		}
		r.APIGroups = append(r.APIGroups, g)
	}
	return r
}

func urls(verbs string, paths ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: paths}
}

// bootstrapped is the metadata of the policy objects, as Kubernetes labels its own.
func bootstrapped(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{"rbac.authorization.kubernetes.io/autoupdate": "true"},
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) item {
	return item{rbacGroup, "v1", "clusterroles", &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "ClusterRole"}, ObjectMeta: bootstrapped(name), Rules: rules,
	}}
}

// aggregated is a ClusterRole that grows by every role with the label; aggregated into the role of the name by label.
func aggregated(name string, rules ...rbacv1.PolicyRule) []item {
	sum := clusterRole(name)
	role := sum.object.(*rbacv1.ClusterRole)
	role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{"rbac.authorization.k8s.io/aggregate-to-" + name: "true"}},
	}}
	part := clusterRole("system:aggregate-to-"+name, rules...)
	part.object.(*rbacv1.ClusterRole).Labels["rbac.authorization.k8s.io/aggregate-to-"+name] = "true"
	return []item{sum, part}
}

func clusterBinding(name, role string, subjects ...rbacv1.Subject) item {
	return item{rbacGroup, "v1", "clusterrolebindings", &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacGroup + "/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: bootstrapped(name),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: role}, Subjects: subjects,
	}}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacGroup, Kind: rbacv1.UserKind, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacGroup, Kind: rbacv1.GroupKind, Name: name}
}

// policy is all RBAC objects.
func policy() []item {
	return append(people(), components()...)
}

// people are the roles for users.
func people() []item {
	const (
		workloads = "apps"
		appKinds  = "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale"
		appStates = "daemonsets/status deployments/status replicasets/status statefulsets/status controllerrevisions"
		coreKinds = "configmaps endpoints persistentvolumeclaims replicationcontrollers replicationcontrollers/scale serviceaccounts services"
	)
	items := []item{
		clusterRole("cluster-admin", rule("*", "*", "*"), urls("*", "*")),
		clusterBinding("cluster-admin", "cluster-admin", group(authn.GroupMasters)),
		clusterRole("system:discovery", urls("get", "/livez", "/readyz", "/healthz", "/version", "/version/", "/openapi", "/openapi/*", "/api", "/api/*", "/apis", "/apis/*")),
		clusterBinding("system:discovery", "system:discovery", group(authn.GroupAuthenticated)),
		clusterRole("system:public-info-viewer", urls("get", "/livez", "/readyz", "/healthz", "/version", "/version/")),
		clusterBinding("system:public-info-viewer", "system:public-info-viewer", group(authn.GroupAuthenticated), group(authn.GroupUnauthenticated)),
		clusterRole("system:basic-user",
			rule("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
			rule("create", "authentication.k8s.io", "selfsubjectreviews")),
		clusterBinding("system:basic-user", "system:basic-user", group(authn.GroupAuthenticated)),
		clusterRole("system:monitoring", urls("get", "/metrics", "/metrics/slis", "/livez", "/readyz", "/healthz", "/livez/*", "/readyz/*", "/healthz/*")),
		clusterBinding("system:monitoring", "system:monitoring", group("system:monitoring")),
	}
	view := []rbacv1.PolicyRule{
		rule(read, "core", coreKinds+" pods services/status persistentvolumeclaims/status replicationcontrollers/status"),
		rule(read, "core", "bindings events limitranges namespaces namespaces/status pods/log pods/status resourcequotas resourcequotas/status"),
		rule(read, "discovery.k8s.io", "endpointslices"),
		rule(read, workloads, appKinds+" "+appStates),
		rule(read, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
		rule(read, "batch", "cronjobs cronjobs/status jobs jobs/status"),
		rule(read, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
		rule(read, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
		rule(read, "events.k8s.io", "events"),
		rule(read, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
	}
	edit := []rbacv1.PolicyRule{
		rule(read, "core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
		rule("impersonate", "core", "serviceaccounts"),
		rule(write, "core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
		rule("create", "core", "pods/eviction serviceaccounts/token"),
		rule(write, "core", coreKinds+" secrets services/proxy events"),
		rule(write, workloads, appKinds),
		rule(write, "autoscaling", "horizontalpodautoscalers"),
		rule(write, "batch", "cronjobs jobs"),
		rule(write, "policy", "poddisruptionbudgets"),
		rule(write, "networking.k8s.io", "ingresses networkpolicies"),
		rule(everything, "coordination.k8s.io", "leases"),
		rule(write, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
	}
	admin := []rbacv1.PolicyRule{
		rule("create", "authorization.k8s.io", "localsubjectaccessreviews"),
		rule(everything, rbacGroup, "rolebindings roles"),
	}
	items = append(items, aggregated("view", view...)...)
	items = append(items, aggregated("edit", edit...)...)
	items = append(items, aggregated("admin", admin...)...)
	// Who may edit may view, who administers may edit.
	also := func(part, in string) {
		for _, it := range items {
			if it.object.GetName() == part {
				it.object.GetLabels()["rbac.authorization.k8s.io/aggregate-to-"+in] = "true"
			}
		}
	}
	also("system:aggregate-to-view", "edit")
	also("system:aggregate-to-view", "admin")
	also("system:aggregate-to-edit", "admin")
	return items
}
