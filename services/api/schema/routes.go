package schema

import (
	"net/http"
	"strings"
	"unicode"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-openapi/pkg/common"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/registry"
)

// Samples of the types that requests and answers have beside the kinds' own.
var (
	statusSample        = &metav1.Status{}
	deleteOptionsSample = &metav1.DeleteOptions{}
	patchSample         = &metav1.Patch{}
	watchEventSample    = &metav1.WatchEvent{}
	samples             = map[string]any{
		"Scale": &autoscalingv1.Scale{}, "Eviction": &policyv1.Eviction{}, "Binding": &corev1.Binding{},
		"TokenRequest": &authenticationv1.TokenRequest{},
	}
)

var bodyTypes = []string{negotiate.JSON, negotiate.YAML, negotiate.Protobuf}

// route is one request that a kind takes; it implements kube-openapi's common.Route.
type route struct {
	method, path, id, description string
	params                        []common.Parameter
	consumes, produces            []string
	metadata                      map[string]any
	request                       any
	responses                     []common.StatusCodeResponse
}

func (r route) Method() string                                   { return r.method }
func (r route) Path() string                                     { return r.path }
func (r route) OperationName() string                            { return r.id }
func (r route) Parameters() []common.Parameter                   { return r.params }
func (r route) Description() string                              { return r.description }
func (r route) Consumes() []string                               { return r.consumes }
func (r route) Produces() []string                               { return r.produces }
func (r route) Metadata() map[string]any                         { return r.metadata }
func (r route) RequestPayloadSample() any                        { return r.request }
func (r route) ResponsePayloadSample() any                       { return nil }
func (r route) StatusCodeResponses() []common.StatusCodeResponse { return r.responses }

type response struct {
	code  int
	text  string
	model any
}

func (r response) Code() int       { return r.code }
func (r response) Message() string { return r.text }
func (r response) Model() any      { return r.model }

type parameter struct {
	name, description, dataType string
	kind                        common.ParameterKind
	required                    bool
}

func (p parameter) Name() string               { return p.name }
func (p parameter) Description() string        { return p.description }
func (p parameter) Required() bool             { return p.required }
func (p parameter) Kind() common.ParameterKind { return p.kind }
func (p parameter) DataType() string           { return p.dataType }
func (p parameter) AllowMultiple() bool        { return false }

// routes are all requests of a group version; it implements kube-openapi's common.RouteContainer.
type routes struct {
	root string
	all  []common.Route
}

func (r routes) RootPath() string                   { return r.root }
func (r routes) PathParameters() []common.Parameter { return nil }
func (r routes) Routes() []common.Route             { return r.all }

func query(name, dataType, description string) parameter {
	return parameter{name: name, description: description, dataType: dataType, kind: common.QueryParameterKind}
}

func pathParam(name, description string) parameter {
	return parameter{name: name, description: description, dataType: "string", kind: common.PathParameterKind, required: true}
}

var (
	body = parameter{name: "body", kind: common.BodyParameterKind, required: true, dataType: "object"}
	// deleteBody may be left out.
	deleteBody = parameter{name: "body", kind: common.BodyParameterKind, dataType: "object"}

	prettyParam = query("pretty", "string", "If 'true', then the output is pretty printed.")
	listParams  = optionParams(metav1.ListOptions{}.SwaggerDoc(), "allowWatchBookmarks:boolean continue:string fieldSelector:string labelSelector:string "+
		"limit:integer resourceVersion:string resourceVersionMatch:string sendInitialEvents:boolean timeoutSeconds:integer watch:boolean")
	createParams = optionParams(metav1.CreateOptions{}.SwaggerDoc(), "dryRun:string fieldManager:string fieldValidation:string")
	updateParams = optionParams(metav1.UpdateOptions{}.SwaggerDoc(), "dryRun:string fieldManager:string fieldValidation:string")
	patchParams  = optionParams(metav1.PatchOptions{}.SwaggerDoc(), "dryRun:string fieldManager:string fieldValidation:string force:boolean")
	deleteParams = optionParams(metav1.DeleteOptions{}.SwaggerDoc(), "dryRun:string gracePeriodSeconds:integer ignoreStoreReadErrorWithClusterBreakingPotential:boolean "+
		"orphanDependents:boolean propagationPolicy:string")
)

// optionParams are query parameters "name:type ..." with the descriptions of an options type.
func optionParams(docs map[string]string, list string) []common.Parameter {
	var out []common.Parameter
	for _, field := range strings.Fields(list) {
		name, dataType, _ := strings.Cut(field, ":")
		out = append(out, query(name, dataType, docs[name]))
	}
	return out
}

// routesOf are the requests of one group version.
func routesOf(v groupVersion) routes {
	root := "/apis/" + v.Group + "/" + v.Version
	if v.Group == "" {
		root = "/api/" + v.Version
	}
	r := routes{root: root}
	for _, k := range v.kinds {
		b := routeBuilder{kind: k, root: root, prefix: operationPrefix(v)}
		b.build()
		r.all = append(r.all, b.out...)
	}
	return r
}

// operationPrefix is what follows the verb in operation ids: "AppsV1", "CoreV1", "RbacAuthorizationV1".
func operationPrefix(v groupVersion) string {
	name := v.Group
	if name == "" {
		name = "core"
	}
	name = strings.TrimSuffix(name, ".k8s.io")
	var b strings.Builder
	for _, part := range strings.Split(name, ".") {
		b.WriteString(title(part))
	}
	return b.String() + title(v.Version)
}

func title(s string) string {
	if s == "" {
		return s
	}
	return string(unicode.ToUpper(rune(s[0]))) + s[1:]
}

type routeBuilder struct {
	kind         *registry.Kind
	root, prefix string
	out          []common.Route
}

func (b *routeBuilder) build() {
	k := b.kind
	scope, collection := "", b.root+"/"+k.Plural
	at := []common.Parameter{prettyParam}
	if k.Namespaced {
		scope, collection = "Namespaced", b.root+"/namespaces/{namespace}/"+k.Plural
		at = append(at, pathParam("namespace", "object name and auth scope, such as for teams and projects"))
		if k.HasVerb("list") {
			b.add(route{method: http.MethodGet, path: b.root + "/" + k.Plural, id: "list" + b.prefix + k.Kind.Kind + "ForAllNamespaces",
				description: "list or watch objects of kind " + k.Kind.Kind, responses: ok(k.NewList())}, "list", []common.Parameter{prettyParam}, listParams)
		}
	}
	name := scope + k.Kind.Kind
	noun := article(k.Kind.Kind)
	if k.HasVerb("list") {
		b.add(route{method: http.MethodGet, path: collection, id: "list" + b.prefix + name,
			description: "list or watch objects of kind " + k.Kind.Kind, responses: ok(k.NewList())}, "list", at, listParams)
	}
	if k.HasVerb("create") {
		b.add(route{method: http.MethodPost, path: collection, id: "create" + b.prefix + name, description: "create " + noun,
			consumes: bodyTypes, request: k.New(), responses: okCreated(k.New())}, "post", at, createParams, []common.Parameter{body})
	}
	if k.HasVerb("deletecollection") {
		b.add(route{method: http.MethodDelete, path: collection, id: "delete" + b.prefix + "Collection" + name, description: "delete collection of " + k.Kind.Kind,
			consumes: bodyTypes, request: deleteOptionsSample, responses: ok(statusSample)}, "deletecollection", at,
			union(deleteParams, listParams[1:len(listParams)-1]), []common.Parameter{deleteBody})
	}
	item := collection + "/{name}"
	one := append(append([]common.Parameter(nil), at...), pathParam("name", "name of the "+k.Kind.Kind))
	b.object(item, "", name, noun, k.New(), one)
	for _, sub := range k.Subresources {
		s, found := k.Sub(sub)
		model := any(k.New())
		if found && s.Kind != "" {
			model = samples[s.Kind]
		}
		if !found || model == nil || sub == "log" {
			continue
		}
		b.subresource(item, sub, s.Verbs, name, model, one)
	}
}

// object adds what one object takes.
func (b *routeBuilder) object(path, suffix, name, noun string, model any, at []common.Parameter) {
	k := b.kind
	if k.HasVerb("get") {
		b.add(route{method: http.MethodGet, path: path, id: "read" + b.prefix + name + suffix, description: "read the specified " + k.Kind.Kind, responses: ok(model)}, "get", at)
	}
	if k.HasVerb("update") {
		b.add(route{method: http.MethodPut, path: path, id: "replace" + b.prefix + name + suffix, description: "replace the specified " + k.Kind.Kind,
			consumes: bodyTypes, request: model, responses: okCreated(model)}, "put", at, updateParams, []common.Parameter{body})
	}
	if k.HasVerb("patch") {
		b.patch(path, "patch"+b.prefix+name+suffix, "partially update the specified "+k.Kind.Kind, model, at)
	}
	if k.HasVerb("delete") {
		b.add(route{method: http.MethodDelete, path: path, id: "delete" + b.prefix + name + suffix, description: "delete " + noun,
			consumes: bodyTypes, request: deleteOptionsSample, responses: ok(statusSample)}, "delete", at, deleteParams, []common.Parameter{deleteBody})
	}
}

func (b *routeBuilder) patch(path, id, description string, model any, at []common.Parameter) {
	b.add(route{method: http.MethodPatch, path: path, id: id, description: description,
		consumes: []string{"application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json", "application/apply-patch+yaml"},
		request:  patchSample, responses: okCreated(model)}, "patch", at, patchParams, []common.Parameter{body})
}

func (b *routeBuilder) subresource(item, sub string, verbs []string, name string, model any, at []common.Parameter) {
	path, suffix := item+"/"+sub, title(sub)
	for _, verb := range verbs {
		switch verb {
		case "get":
			b.add(route{method: http.MethodGet, path: path, id: "read" + b.prefix + name + suffix, description: "read " + sub + " of the specified " + b.kind.Kind.Kind, responses: ok(model)}, "get", at)
		case "create":
			b.add(route{method: http.MethodPost, path: path, id: "create" + b.prefix + name + suffix, description: "create " + sub + " of " + article(b.kind.Kind.Kind),
				consumes: bodyTypes, request: model, responses: okCreated(model)}, "post", at, createParams, []common.Parameter{body})
		case "update":
			b.add(route{method: http.MethodPut, path: path, id: "replace" + b.prefix + name + suffix, description: "replace " + sub + " of the specified " + b.kind.Kind.Kind,
				consumes: bodyTypes, request: model, responses: okCreated(model)}, "put", at, updateParams, []common.Parameter{body})
		case "patch":
			b.patch(path, "patch"+b.prefix+name+suffix, "partially update "+sub+" of the specified "+b.kind.Kind.Kind, model, at)
		}
	}
}

// add completes a route with its kind, its action and its parameters.
func (b *routeBuilder) add(r route, action string, params ...[]common.Parameter) {
	k := b.kind
	r.produces = bodyTypes
	r.metadata = map[string]any{
		"x-kubernetes-action":             action,
		"x-kubernetes-group-version-kind": map[string]any(extensionOf(k.Group, k.Version, k.Kind.Kind)),
	}
	if len(r.consumes) == 0 {
		r.consumes = []string{"*/*"}
	}
	r.params = union(params...)
	b.out = append(b.out, r)
}

func union(lists ...[]common.Parameter) []common.Parameter {
	var out []common.Parameter
	have := map[string]bool{}
	for _, l := range lists {
		for _, p := range l {
			if !have[p.Name()] {
				have[p.Name()] = true
				out = append(out, p)
			}
		}
	}
	return out
}

func ok(model any) []common.StatusCodeResponse {
	return []common.StatusCodeResponse{response{http.StatusOK, "OK", model}}
}

func okCreated(model any) []common.StatusCodeResponse {
	return []common.StatusCodeResponse{response{http.StatusOK, "OK", model}, response{http.StatusCreated, "Created", model}}
}

func article(noun string) string {
	if strings.ContainsRune("AEIOU", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}
