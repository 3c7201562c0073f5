package requestinfo

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// Info is what a request line says.
type Info struct {
	// IsResource is false for paths such as /version, /apis/apps and /openapi/v2; then only Verb (the method in lower
	// case), Path and what of APIPrefix, Group and Version the path has are set.
	IsResource bool
	// Verb is Kubernetes' verb: get, list, watch, create, update, patch, delete, deletecollection.
	Verb string
	// APIPrefix is "api" for the core group, "apis" for all others.
	APIPrefix string
	Group     string
	Version   string
	Resource  string
	// Subresource is the segment after the name: "status", "log"; Rest is what follows it, for proxies.
	Subresource string
	Rest        string
	// Namespace is empty at cluster scope; for a namespace itself it is the namespace, as in Kubernetes.
	Namespace string
	// Name is the object's name, also where only a field selector metadata.name=x gives it.
	Name string
	// Path is the request's path with its leading slash.
	Path string
}

// namespaceSubresources are the segments after /namespaces/x that belong to the namespace itself; any other is a resource in it.
var namespaceSubresources = map[string]bool{"status": true, "finalize": true}

// Parse reads an HTTP method, an unescaped path (with or without its leading slash) and a query. It never fails: what is no
// resource path has IsResource false.
func Parse(method, path string, query url.Values) Info {
	trimmed := strings.Trim(path, "/")
	info := Info{Verb: strings.ToLower(method), Path: "/" + strings.TrimPrefix(path, "/")}
	parts := strings.Split(trimmed, "/")
	switch parts[0] {
	case "api":
		info.APIPrefix = "api"
		parts = parts[1:]
	case "apis":
		info.APIPrefix = "apis"
		if len(parts) > 1 {
			info.Group = parts[1]
		}
		parts = parts[min(2, len(parts)):]
	default:
		return info
	}
	if len(parts) > 0 {
		info.Version = parts[0]
		parts = parts[1:]
	}
	legacyWatch := false
	if len(parts) > 1 && parts[0] == "watch" {
		// The prefix of old clients: /api/v1/watch/namespaces/default/pods.
		legacyWatch, parts = true, parts[1:]
	}
	if len(parts) == 0 || parts[0] == "" || info.Version == "" {
		return info
	}
	info.IsResource = true
	if parts[0] == "namespaces" && len(parts) > 1 {
		info.Namespace = parts[1]
		if len(parts) > 2 && !namespaceSubresources[parts[2]] {
			parts = parts[2:]
		}
	}
	info.Resource = parts[0]
	if len(parts) > 1 {
		info.Name = parts[1]
	}
	if len(parts) > 2 {
		info.Subresource = parts[2]
	}
	if len(parts) > 3 {
		info.Rest = strings.Join(parts[3:], "/")
	}
	info.Verb = verb(method, info.Name != "")
	if info.Verb == "list" || info.Verb == "deletecollection" {
		if info.Verb == "list" && isTrue(query, "watch") {
			info.Verb = "watch"
		}
		info.Name = SelectedName(query.Get("fieldSelector"))
	}
	if legacyWatch && (info.Verb == "get" || info.Verb == "list") {
		info.Verb = "watch"
	}
	return info
}

// Streams says whether the answer comes in pieces: lists, watches and logs.
func (i Info) Streams() bool {
	if !i.IsResource {
		return false
	}
	return i.Verb == "watch" || i.Verb == "list" || i.Verb == "get" && i.Subresource == "log"
}

// Connects says whether the request upgrades its connection: exec, attach and port-forward.
func (i Info) Connects() bool {
	if !i.IsResource || i.APIPrefix != "api" || i.Resource != "pods" {
		return false
	}
	return i.Subresource == "exec" || i.Subresource == "attach" || i.Subresource == "portforward"
}

// Collection says whether the request is about a collection: the name, if any, came from a field selector.
func (i Info) Collection() bool {
	switch i.Verb {
	case "list", "watch", "deletecollection":
		return i.IsResource
	}
	return i.IsResource && i.Name == ""
}

func verb(method string, named bool) string {
	switch method {
	case http.MethodPost:
		return "create"
	case http.MethodGet, http.MethodHead:
		if named {
			return "get"
		}
		return "list"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		if named {
			return "delete"
		}
		return "deletecollection"
	}
	return strings.ToLower(method)
}

// isTrue reads a boolean parameter as Kubernetes does: its presence is true unless it says false or 0.
func isTrue(query url.Values, key string) bool {
	v, ok := query[key]
	if !ok || len(v) == 0 {
		return false
	}
	return !strings.EqualFold(v[0], "false") && v[0] != "0"
}

// SelectedName is the name that a field selector metadata.name=x asks for; empty when it asks for none, or is malformed.
func SelectedName(fieldSelector string) string {
	if !strings.Contains(fieldSelector, "metadata.name") {
		return ""
	}
	selector, err := fields.ParseSelector(fieldSelector)
	if err != nil {
		return ""
	}
	name, _ := selector.RequiresExactMatch("metadata.name")
	return name
}
