package bootstrap

import (
	"github.com/orrery-io/orrery/services/api/authn"
)

// components are the roles of the control plane's own services. Each holds what the service reads and writes, so that
// a component can do its work and no more; none is in system:masters.
func components() []item {
	return []item{
		clusterRole("system:kube-scheduler",
			rule(read, "core", "nodes namespaces persistentvolumeclaims persistentvolumes replicationcontrollers services"),
			rule(read+" delete", "core", "pods"),
			rule("create", "core", "bindings pods/binding"),
			rule("patch update", "core", "pods/status"),
			rule("patch update", "core", "persistentvolumeclaims persistentvolumes"),
			rule("create patch update", "core events.k8s.io", "events"),
			rule(read, "apps", "replicasets statefulsets"),
			rule(read, "policy", "poddisruptionbudgets"),
			rule(read, "storage.k8s.io", "csidrivers csinodes csistoragecapacities storageclasses volumeattachments"),
			rule(read, "scheduling.k8s.io", "priorityclasses"),
			rule(everything, "coordination.k8s.io", "leases"),
			rule(read, "resource.k8s.io", "deviceclasses resourceslices devicetaintrules"),
			rule(read+" patch update", "resource.k8s.io", "resourceclaims resourceclaims/status"),
			rule("create", "authentication.k8s.io", "tokenreviews"),
			rule("create", "authorization.k8s.io", "subjectaccessreviews")),
		clusterBinding("system:kube-scheduler", "system:kube-scheduler", user(authn.KubeScheduler)),

		// The garbage collector follows and deletes objects of any kind, the namespace controller empties namespaces; the rest
		// are the objects that controllers create and the statuses they write.
		clusterRole("system:kube-controller-manager",
			rule(read+" delete deletecollection patch update", "*", "*"),
			rule("create", "core", "configmaps endpoints events persistentvolumeclaims persistentvolumes pods pods/binding pods/eviction secrets serviceaccounts serviceaccounts/token services"),
			rule("create", "apps", "controllerrevisions replicasets"),
			rule("create", "batch", "jobs"),
			rule("create", "events.k8s.io", "events"),
			rule("create", "discovery.k8s.io", "endpointslices"),
			rule("create", "coordination.k8s.io", "leases"),
			rule("create", "authentication.k8s.io", "tokenreviews"),
			rule("create", "authorization.k8s.io", "subjectaccessreviews"),
			rule("create", "certificates.k8s.io", "clustertrustbundles"),
			rule("create", "storage.k8s.io", "volumeattachments"),
			rule("create", "networking.k8s.io", "ipaddresses"),
			rule("create", "resource.k8s.io", "resourceclaims"),
			urls("get", "/api", "/api/*", "/apis", "/apis/*", "/version")),
		clusterBinding("system:kube-controller-manager", "system:kube-controller-manager", user(authn.KubeControllerManager)),

		clusterRole("system:node",
			rule("create", "authentication.k8s.io", "tokenreviews"),
			rule("create", "authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
			rule(read, "core", "services configmaps secrets persistentvolumeclaims persistentvolumes endpoints"),
			rule(read+" create delete patch update", "core", "nodes"),
			rule("patch update", "core", "nodes/status"),
			rule("create patch update", "core events.k8s.io", "events"),
			rule(read+" create delete", "core", "pods"),
			rule("patch update", "core", "pods/status"),
			rule("create", "core", "pods/eviction serviceaccounts/token"),
			rule("get", "core", "serviceaccounts"),
			rule("get patch update", "core", "persistentvolumeclaims/status"),
			rule(read+" create delete patch update", "coordination.k8s.io", "leases"),
			rule(read+" create", "certificates.k8s.io", "certificatesigningrequests"),
			rule(read, "certificates.k8s.io", "clustertrustbundles"),
			rule(read+" create", "certificates.k8s.io", "podcertificaterequests"),
			rule(read, "storage.k8s.io", "csidrivers volumeattachments"),
			rule(read+" create delete patch update", "storage.k8s.io", "csinodes"),
			rule(read, "node.k8s.io", "runtimeclasses"),
			rule("get", "resource.k8s.io", "resourceclaims"),
			rule(read+" create delete deletecollection patch update", "resource.k8s.io", "resourceslices")),
		clusterBinding("system:node", "system:node", group(authn.GroupNodes)),

		clusterRole("system:node-proxier",
			rule(read, "core", "nodes services endpoints"),
			rule(read, "discovery.k8s.io", "endpointslices"),
			rule(read, "networking.k8s.io", "servicecidrs"),
			rule("create patch update", "core events.k8s.io", "events")),
		clusterBinding("system:node-proxier", "system:node-proxier", user("system:kube-proxy"), group("system:node-proxier")),

		clusterRole("system:auth-delegator",
			rule("create", "authentication.k8s.io", "tokenreviews"),
			rule("create", "authorization.k8s.io", "subjectaccessreviews")),
		clusterRole("system:node-bootstrapper", rule(read+" create", "certificates.k8s.io", "certificatesigningrequests")),
	}
}
