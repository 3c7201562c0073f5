package protogen

import (
	"strings"

	"github.com/orrery-io/orrery/services/internal/kinds"
)

// pkg is one protobuf package and the API group version it mirrors.
type pkg struct {
	name    string // folder below proto/orrery, e.g. "core"
	version string // "v1"
	group   string // API group, e.g. "rbac.authorization.k8s.io"
	goPath  string // import path of the Go types
	kinds   []kinds.Kind
}

// protoPackage is the protobuf package name, "orrery.core.v1".
func (p pkg) protoPackage() string { return "orrery." + p.name + "." + p.version }

// dir is the folder below proto/ and gen/go/, "orrery/core/v1".
func (p pkg) dir() string { return "orrery/" + p.name + "/" + p.version }

// goAlias is the Go package name of the generated code, "corev1".
func (p pkg) goAlias() string { return p.name + p.version }

const (
	clusterScope = false
	namespaced   = true
)

const (
	allVerbs      = "create delete deletecollection get list patch update watch"
	noCollection  = "create delete get list patch update watch"
	createOnly    = "create"
	readOnly      = "get list"
	apiExtensions = "api-extensions"
)

// k makes an entry; opts are "short=po,pod", "cat=all", "sub=status scale", "verbs=create".
func k(kind, plural string, inNamespace bool, opts ...string) kinds.Kind {
	e := kinds.Kind{Kind: kind, Plural: plural, Namespaced: inNamespace, Singular: strings.ToLower(kind), Verbs: strings.Fields(allVerbs)}
	for _, o := range opts {
		key, value, _ := strings.Cut(o, "=")
		switch key {
		case "short":
			e.ShortNames = strings.Split(value, ",")
		case "cat":
			e.Categories = strings.Split(value, ",")
		case "sub":
			e.Subresources = strings.Fields(value)
		case "verbs":
			e.Verbs = strings.Fields(value)
		default:
			panic("protogen: unknown option in the table of kinds: " + o)
		}
	}
	e.HasStatus = e.HasSubresource("status")
	return e
}

// packages is the table that everything is generated from: protobuf packages, in the order of discovery's
// groups, and their kinds. RuntimeClass lives in "runtimeclass": orrery.node.v1 is the node agent's protocol.
var packages = complete([]pkg{
	{"core", "v1", "", "k8s.io/api/core/v1", []kinds.Kind{
		k("Binding", "bindings", namespaced, "verbs="+createOnly),
		k("ComponentStatus", "componentstatuses", clusterScope, "short=cs", "verbs="+readOnly),
		k("ConfigMap", "configmaps", namespaced, "short=cm"),
		k("Endpoints", "endpoints", namespaced, "short=ep"),
		k("Event", "events", namespaced, "short=ev"),
		k("LimitRange", "limitranges", namespaced, "short=limits"),
		k("Namespace", "namespaces", clusterScope, "short=ns", "sub=finalize status", "verbs="+noCollection),
		k("Node", "nodes", clusterScope, "short=no", "sub=proxy status"),
		k("PersistentVolumeClaim", "persistentvolumeclaims", namespaced, "short=pvc", "sub=status"),
		k("PersistentVolume", "persistentvolumes", clusterScope, "short=pv", "sub=status"),
		k("Pod", "pods", namespaced, "short=po", "cat=all",
			"sub=attach binding ephemeralcontainers eviction exec log portforward proxy resize status"),
		k("PodTemplate", "podtemplates", namespaced),
		k("ReplicationController", "replicationcontrollers", namespaced, "short=rc", "cat=all", "sub=scale status"),
		k("ResourceQuota", "resourcequotas", namespaced, "short=quota", "sub=status"),
		k("Secret", "secrets", namespaced),
		k("ServiceAccount", "serviceaccounts", namespaced, "short=sa", "sub=token"),
		k("Service", "services", namespaced, "short=svc", "cat=all", "sub=proxy status"),
	}},
	{"events", "v1", "events.k8s.io", "k8s.io/api/events/v1", []kinds.Kind{
		k("Event", "events", namespaced, "short=ev"),
	}},
	{"authentication", "v1", "authentication.k8s.io", "k8s.io/api/authentication/v1", []kinds.Kind{
		k("SelfSubjectReview", "selfsubjectreviews", clusterScope, "verbs="+createOnly),
		k("TokenReview", "tokenreviews", clusterScope, "verbs="+createOnly),
	}},
	{"authorization", "v1", "authorization.k8s.io", "k8s.io/api/authorization/v1", []kinds.Kind{
		k("LocalSubjectAccessReview", "localsubjectaccessreviews", namespaced, "verbs="+createOnly),
		k("SelfSubjectAccessReview", "selfsubjectaccessreviews", clusterScope, "verbs="+createOnly),
		k("SelfSubjectRulesReview", "selfsubjectrulesreviews", clusterScope, "verbs="+createOnly),
		k("SubjectAccessReview", "subjectaccessreviews", clusterScope, "verbs="+createOnly),
	}},
	{"autoscaling", "v2", "autoscaling", "k8s.io/api/autoscaling/v2", []kinds.Kind{
		k("HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced, "short=hpa", "cat=all", "sub=status"),
	}},
	{"autoscaling", "v1", "autoscaling", "k8s.io/api/autoscaling/v1", []kinds.Kind{
		k("HorizontalPodAutoscaler", "horizontalpodautoscalers", namespaced, "short=hpa", "cat=all", "sub=status"),
	}},
	{"batch", "v1", "batch", "k8s.io/api/batch/v1", []kinds.Kind{
		k("CronJob", "cronjobs", namespaced, "short=cj", "cat=all", "sub=status"),
		k("Job", "jobs", namespaced, "cat=all", "sub=status"),
	}},
	{"certificates", "v1", "certificates.k8s.io", "k8s.io/api/certificates/v1", []kinds.Kind{
		k("CertificateSigningRequest", "certificatesigningrequests", clusterScope, "short=csr", "sub=approval status"),
		k("ClusterTrustBundle", "clustertrustbundles", clusterScope),
		k("PodCertificateRequest", "podcertificaterequests", namespaced, "sub=status"),
	}},
	{"networking", "v1", "networking.k8s.io", "k8s.io/api/networking/v1", []kinds.Kind{
		k("IngressClass", "ingressclasses", clusterScope),
		k("Ingress", "ingresses", namespaced, "short=ing", "sub=status"),
		k("IPAddress", "ipaddresses", clusterScope, "short=ip"),
		k("NetworkPolicy", "networkpolicies", namespaced, "short=netpol"),
		k("ServiceCIDR", "servicecidrs", clusterScope, "sub=status"),
	}},
	{"policy", "v1", "policy", "k8s.io/api/policy/v1", []kinds.Kind{
		k("PodDisruptionBudget", "poddisruptionbudgets", namespaced, "short=pdb", "sub=status"),
	}},
	{"rbac", "v1", "rbac.authorization.k8s.io", "k8s.io/api/rbac/v1", []kinds.Kind{
		k("ClusterRoleBinding", "clusterrolebindings", clusterScope),
		k("ClusterRole", "clusterroles", clusterScope),
		k("RoleBinding", "rolebindings", namespaced),
		k("Role", "roles", namespaced),
	}},
	{"storage", "v1", "storage.k8s.io", "k8s.io/api/storage/v1", []kinds.Kind{
		k("CSIDriver", "csidrivers", clusterScope),
		k("CSINode", "csinodes", clusterScope, "sub=status"),
		k("CSIStorageCapacity", "csistoragecapacities", namespaced),
		k("StorageClass", "storageclasses", clusterScope, "short=sc"),
		k("VolumeAttachment", "volumeattachments", clusterScope, "sub=status"),
		k("VolumeAttributesClass", "volumeattributesclasses", clusterScope, "short=vac"),
	}},
	{"admissionregistration", "v1", "admissionregistration.k8s.io", "k8s.io/api/admissionregistration/v1", []kinds.Kind{
		k("MutatingAdmissionPolicy", "mutatingadmissionpolicies", clusterScope, "cat="+apiExtensions),
		k("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings", clusterScope, "cat="+apiExtensions),
		k("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", clusterScope, "cat="+apiExtensions),
		k("ValidatingAdmissionPolicy", "validatingadmissionpolicies", clusterScope, "cat="+apiExtensions, "sub=status"),
		k("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings", clusterScope, "cat="+apiExtensions),
		k("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", clusterScope, "cat="+apiExtensions),
	}},
	{"apiextensions", "v1", "apiextensions.k8s.io", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", []kinds.Kind{
		k("CustomResourceDefinition", "customresourcedefinitions", clusterScope, "short=crd,crds", "cat="+apiExtensions, "sub=status"),
	}},
	{"scheduling", "v1", "scheduling.k8s.io", "k8s.io/api/scheduling/v1", []kinds.Kind{
		k("PriorityClass", "priorityclasses", clusterScope, "short=pc"),
	}},
	{"coordination", "v1", "coordination.k8s.io", "k8s.io/api/coordination/v1", []kinds.Kind{
		k("Lease", "leases", namespaced),
	}},
	{"runtimeclass", "v1", "node.k8s.io", "k8s.io/api/node/v1", []kinds.Kind{
		k("RuntimeClass", "runtimeclasses", clusterScope),
	}},
	{"discovery", "v1", "discovery.k8s.io", "k8s.io/api/discovery/v1", []kinds.Kind{
		k("EndpointSlice", "endpointslices", namespaced),
	}},
	{"flowcontrol", "v1", "flowcontrol.apiserver.k8s.io", "k8s.io/api/flowcontrol/v1", []kinds.Kind{
		k("FlowSchema", "flowschemas", clusterScope, "sub=status"),
		k("PriorityLevelConfiguration", "prioritylevelconfigurations", clusterScope, "sub=status"),
	}},
	{"resource", "v1", "resource.k8s.io", "k8s.io/api/resource/v1", []kinds.Kind{
		k("DeviceClass", "deviceclasses", clusterScope),
		k("DeviceTaintRule", "devicetaintrules", clusterScope, "sub=status"),
		k("ResourceClaim", "resourceclaims", namespaced, "sub=status"),
		k("ResourceClaimTemplate", "resourceclaimtemplates", namespaced),
		k("ResourceSlice", "resourceslices", clusterScope),
	}},
	{"apps", "v1", "apps", "k8s.io/api/apps/v1", []kinds.Kind{
		k("ControllerRevision", "controllerrevisions", namespaced),
		k("DaemonSet", "daemonsets", namespaced, "short=ds", "cat=all", "sub=status"),
		k("Deployment", "deployments", namespaced, "short=deploy", "cat=all", "sub=scale status"),
		k("ReplicaSet", "replicasets", namespaced, "short=rs", "cat=all", "sub=scale status"),
		k("StatefulSet", "statefulsets", namespaced, "short=sts", "cat=all", "sub=scale status"),
	}},
	// No kinds served: batch/v1 Job refers to a few of its types.
	{"scheduling", "v1alpha3", "scheduling.k8s.io", "k8s.io/api/scheduling/v1alpha3", nil},
	// No kinds of its own: the types that the packages above are built from.
	{"meta", "v1", "", "k8s.io/apimachinery/pkg/apis/meta/v1", nil},
})

// complete fills in what follows from the rest of an entry: names of package and service, and methods.
func complete(ps []pkg) []pkg {
	for i := range ps {
		p := &ps[i]
		for j := range p.kinds {
			e := &p.kinds[j]
			e.Group, e.Version = p.group, p.version
			e.ProtoPackage = p.protoPackage()
			e.Service = e.ProtoPackage + "." + e.Kind + "Service"
			e.ProtoFile = p.dir() + "/" + fileName(e.Kind) + ".proto"
			e.Methods = methods(*e)
		}
	}
	return ps
}

// verbMethods are the methods of the resource itself, in the order they appear in a service.
var verbMethods = []kinds.Method{
	{Name: "Get", Shape: kinds.ShapeGet, Verb: "get"},
	{Name: "List", Shape: kinds.ShapeList, Verb: "list"},
	{Name: "Watch", Shape: kinds.ShapeWatch, Verb: "watch"},
	{Name: "Create", Shape: kinds.ShapeCreate, Verb: "create"},
	{Name: "Update", Shape: kinds.ShapeUpdate, Verb: "update"},
	{Name: "Patch", Shape: kinds.ShapePatch, Verb: "patch"},
	{Name: "Delete", Shape: kinds.ShapeDelete, Verb: "delete"},
	{Name: "DeleteCollection", Shape: kinds.ShapeDeleteCollection, Verb: "deletecollection"},
}

// subMethods are the methods of a subresource. Streams (log, exec, attach, portforward, proxy) have none:
// they are bytes, not objects, and go through ResourceService. Patch names its subresource in the request.
var subMethods = map[string][]kinds.Method{
	"status":              {{Name: "UpdateStatus", Shape: kinds.ShapeUpdate, Verb: "update"}},
	"ephemeralcontainers": {{Name: "UpdateEphemeralContainers", Shape: kinds.ShapeUpdate, Verb: "update"}},
	"resize":              {{Name: "UpdateResize", Shape: kinds.ShapeUpdate, Verb: "update"}},
	"approval":            {{Name: "UpdateApproval", Shape: kinds.ShapeUpdate, Verb: "update"}},
	"finalize":            {{Name: "Finalize", Shape: kinds.ShapeUpdate, Verb: "update"}},
	"binding":             {{Name: "Bind", Shape: kinds.ShapeCreate, Verb: "create", APIVersion: "v1", Kind: "Binding"}},
	"eviction":            {{Name: "Evict", Shape: kinds.ShapeCreate, Verb: "create", APIVersion: "policy/v1", Kind: "Eviction"}},
	"token":               {{Name: "CreateToken", Shape: kinds.ShapeCreate, Verb: "create", APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}},
	"scale": {
		{Name: "GetScale", Shape: kinds.ShapeGet, Verb: "get", APIVersion: "autoscaling/v1", Kind: "Scale"},
		{Name: "UpdateScale", Shape: kinds.ShapeUpdate, Verb: "update", APIVersion: "autoscaling/v1", Kind: "Scale"},
	},
}

// methods lists the RPCs of a kind: its verbs, then its subresources with UpdateStatus right after Update.
func methods(e kinds.Kind) []kinds.Method {
	var out []kinds.Method
	for _, m := range verbMethods {
		if e.HasVerb(m.Verb) {
			out = append(out, m)
		}
		if m.Name == "Update" && e.HasStatus {
			out = append(out, sub("status")...)
		}
	}
	for _, s := range e.Subresources {
		if s != "status" {
			out = append(out, sub(s)...)
		}
	}
	return out
}

func sub(name string) []kinds.Method {
	ms := append([]kinds.Method(nil), subMethods[name]...)
	for i := range ms {
		ms[i].Subresource = name
	}
	return ms
}
