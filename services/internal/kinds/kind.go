package kinds

import "strings"

// Kind is one built-in REST resource.
type Kind struct {
	Group   string // API group, "" for the core group, e.g. "rbac.authorization.k8s.io"
	Version string // API version, e.g. "v1"
	Kind    string // CamelCase kind, e.g. "Pod"

	Plural     string   // resource name in paths and RBAC rules, e.g. "pods"
	Singular   string   // lower-case kind, e.g. "pod"
	ShortNames []string // what kubectl accepts in place of the plural, e.g. "po"
	Categories []string // groups of resources that kubectl expands, e.g. "all"

	Namespaced bool // false: the object lives at cluster scope and its namespace is empty
	HasStatus  bool // true: "status" is among Subresources

	// Subresources are the path segments below one object, "status" included, e.g. "log", "exec", "scale".
	// Describe one with Sub.
	Subresources []string

	// Verbs are the discovery verbs of the resource itself, in alphabetical order as discovery lists them.
	// Review kinds and Binding have "create" only.
	Verbs []string

	ProtoPackage string   // protobuf package, e.g. "orrery.core.v1"
	Service      string   // full protobuf service name, e.g. "orrery.core.v1.PodService"
	ProtoFile    string   // the file that defines both, e.g. "orrery/core/v1/pod.proto"
	Methods      []Method // the service's methods, in the order of its definition
}

// APIVersion is the apiVersion field's value for the kind: "v1" or "apps/v1".
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// ListKind is the kind of the resource's list, e.g. "PodList".
func (k Kind) ListKind() string { return k.Kind + "List" }

// GroupResource is the name that Kubernetes' error texts use: "pods" or "deployments.apps".
func (k Kind) GroupResource() string {
	if k.Group == "" {
		return k.Plural
	}
	return k.Plural + "." + k.Group
}

// HasVerb says whether the resource supports a discovery verb.
func (k Kind) HasVerb(verb string) bool {
	for _, v := range k.Verbs {
		if v == verb {
			return true
		}
	}
	return false
}

// HasSubresource says whether the resource has the subresource.
func (k Kind) HasSubresource(name string) bool {
	for _, s := range k.Subresources {
		if s == name {
			return true
		}
	}
	return false
}

// Method returns the service's method of that name.
func (k Kind) Method(name string) (Method, bool) {
	for _, m := range k.Methods {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}

// Shape is the request layout of a method. One layout per shape, whatever the kind: that is what lets
// one handler serve all kinds (field numbers in brackets).
type Shape string

const (
	ShapeGet              Shape = "Get"              // {1 namespace, 2 name, 3 resource_version} -> object
	ShapeList             Shape = "List"             // {1 namespace, 2 ListOptions} -> list
	ShapeWatch            Shape = "Watch"            // {1 namespace, 2 ListOptions} -> stream {1 type, 2 object, 3 trace_parent, 4 Status error}
	ShapeCreate           Shape = "Create"           // {1 namespace, 2 object, 3 CreateOptions, 4 name} -> object; 4 only below another object
	ShapeUpdate           Shape = "Update"           // {1 namespace, 2 object, 3 UpdateOptions, 4 name} -> object; 4 only below another object
	ShapePatch            Shape = "Patch"            // {1 namespace, 2 name, 3 PatchType, 4 patch, 5 PatchOptions, 6 subresource} -> object
	ShapeDelete           Shape = "Delete"           // {1 namespace, 2 name, 3 DeleteOptions} -> Status
	ShapeDeleteCollection Shape = "DeleteCollection" // {1 namespace, 2 DeleteOptions, 3 ListOptions} -> Status
)

// Method is one RPC of a kind's service.
type Method struct {
	Name        string // method name, e.g. "UpdateStatus"
	Shape       Shape  // request layout
	Verb        string // the verb that authorization sees: "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"
	Subresource string // "" for the resource itself

	// APIVersion and Kind name the object that the request carries or the response is, where that is another
	// kind than the service's own (Scale, Eviction, Binding, TokenRequest); both empty otherwise.
	APIVersion string
	Kind       string
}

// FullMethod is the gRPC path of a method of the kind: "/orrery.core.v1.PodService/Get".
func (k Kind) FullMethod(m Method) string { return "/" + k.Service + "/" + m.Name }

// Subresource describes a subresource for discovery.
type Subresource struct {
	Name string
	// Group, Version and Kind of the objects it exchanges; all empty when they are the parent's own.
	Group, Version, Kind string
	Verbs                []string // discovery verbs, alphabetical
}

// Sub describes the named subresource of the kind; false when the kind has none of that name.
func (k Kind) Sub(name string) (Subresource, bool) {
	if !k.HasSubresource(name) {
		return Subresource{}, false
	}
	// Pods, services and nodes share the name "proxy" but exchange their own options kind.
	s, ok := subresources[k.Plural+"/"+name]
	if !ok {
		s, ok = subresources[name]
	}
	s.Name = name
	return s, ok
}

var (
	objectVerbs  = strings.Fields("get patch update")
	connectVerbs = strings.Fields("create get")
	proxyVerbs   = strings.Fields("create delete get patch update")
)

// subresources says what each subresource exchanges, by name, or by plural/name where that differs by parent.
var subresources = map[string]Subresource{
	"status":              {Verbs: objectVerbs},
	"scale":               {Group: "autoscaling", Version: "v1", Kind: "Scale", Verbs: objectVerbs},
	"ephemeralcontainers": {Verbs: objectVerbs},
	"resize":              {Verbs: objectVerbs},
	"approval":            {Verbs: objectVerbs},
	"finalize":            {Verbs: []string{"update"}},
	"binding":             {Version: "v1", Kind: "Binding", Verbs: []string{"create"}},
	"eviction":            {Group: "policy", Version: "v1", Kind: "Eviction", Verbs: []string{"create"}},
	"token":               {Group: "authentication.k8s.io", Version: "v1", Kind: "TokenRequest", Verbs: []string{"create"}},
	"log":                 {Verbs: []string{"get"}},
	"exec":                {Version: "v1", Kind: "PodExecOptions", Verbs: connectVerbs},
	"attach":              {Version: "v1", Kind: "PodAttachOptions", Verbs: connectVerbs},
	"portforward":         {Version: "v1", Kind: "PodPortForwardOptions", Verbs: connectVerbs},
	"pods/proxy":          {Version: "v1", Kind: "PodProxyOptions", Verbs: proxyVerbs},
	"services/proxy":      {Version: "v1", Kind: "ServiceProxyOptions", Verbs: proxyVerbs},
	"nodes/proxy":         {Version: "v1", Kind: "NodeProxyOptions", Verbs: proxyVerbs},
}
