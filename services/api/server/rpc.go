package server

import (
	"net/http"
	"net/url"

	"google.golang.org/protobuf/encoding/protowire"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/requestinfo"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// restRequest is a RestRequest with its request line read once, for authorization and for serving.
type restRequest struct {
	wire.RestRequest
	method string
	query  url.Values
	info   requestinfo.Info
	// badQuery is why the query could not be read; the request is refused with it once it is authorized.
	badQuery error
}

// Unmarshal decodes the request and reads its line.
func (r *restRequest) Unmarshal(data []byte) error {
	if err := r.RestRequest.Unmarshal(data); err != nil {
		return err
	}
	r.query, r.badQuery = url.ParseQuery(r.Query)
	r.info = requestinfo.Parse(r.method, r.Path, r.query)
	return nil
}

func (r *restRequest) attributes() authz.Attributes {
	i := r.info
	if !i.IsResource {
		return authz.Attributes{Verb: i.Verb, Path: i.Path}
	}
	return authz.Attributes{
		Verb: i.Verb, Group: i.Group, Version: i.Version, Resource: i.Resource, Subresource: i.Subresource,
		Namespace: i.Namespace, Name: i.Name,
	}
}

// restMethods are RestService's methods and the HTTP methods they stand for.
var restMethods = map[string]string{
	"Get": http.MethodGet, "Stream": http.MethodGet, "Create": http.MethodPost, "Update": http.MethodPut,
	"Patch": http.MethodPatch, "Delete": http.MethodDelete,
}

// rpc is a method of a typed service.
type rpc struct {
	*resource
	method kinds.Method
}

func (r rpc) target(namespace, name string) target {
	return target{resource: r.resource, namespace: namespace, name: name, subresource: r.method.Subresource}
}

// attributes is what a typed request asks for.
func (r rpc) attributes(request any) authz.Attributes {
	a := authz.Attributes{
		Verb: r.method.Verb, Group: r.kind.Group, Version: r.kind.Version, Resource: r.kind.Plural, Subresource: r.method.Subresource,
	}
	switch q := request.(type) {
	case *wire.GetRequest:
		a.Namespace, a.Name = q.Namespace, q.Name
	case *wire.ListRequest:
		a.Namespace, a.Name = q.Namespace, requestinfo.SelectedName(q.Options.FieldSelector)
	case *wire.CreateRequest:
		a.Namespace, a.Name = q.Namespace, q.Name
		if a.Namespace == "" && r.kind.Namespaced {
			_, a.Namespace = objectNames(q.Object)
		}
	case *wire.UpdateRequest:
		a.Name, a.Namespace = updateNames(q)
	case *wire.PatchRequest:
		a.Namespace, a.Name, a.Subresource = q.Namespace, q.Name, q.Subresource
	case *wire.DeleteRequest:
		a.Namespace, a.Name = q.Namespace, q.Name
	case *wire.DeleteCollectionRequest:
		a.Namespace, a.Name = q.Namespace, requestinfo.SelectedName(q.ListOptions.FieldSelector)
	}
	if !r.kind.Namespaced {
		a.Namespace = ""
	}
	return a
}

// updateNames are the name and namespace that an update is about: the request's, else the object's own.
func updateNames(q *wire.UpdateRequest) (name, namespace string) {
	name, namespace = q.Name, q.Namespace
	if name == "" || namespace == "" {
		n, ns := objectNames(q.Object)
		if name == "" {
			name = n
		}
		if namespace == "" {
			namespace = ns
		}
	}
	return name, namespace
}

// objectNames reads {1 metadata: {1 name, 3 namespace}} from an encoded object of any kind. Malformed input gives what
// could be read: decoding it will report the error.
func objectNames(object []byte) (name, namespace string) {
	eachBytes(object, func(n protowire.Number, metadata []byte) {
		if n != 1 {
			return
		}
		eachBytes(metadata, func(n protowire.Number, v []byte) {
			switch n {
			case 1:
				name = string(v)
			case 3:
				namespace = string(v)
			}
		})
	})
	return name, namespace
}

func eachBytes(b []byte, f func(n protowire.Number, v []byte)) {
	for len(b) > 0 {
		n, typ, size := protowire.ConsumeTag(b)
		if size < 0 {
			return
		}
		b = b[size:]
		if typ == protowire.BytesType {
			v, size := protowire.ConsumeBytes(b)
			if size < 0 {
				return
			}
			f(n, v)
			b = b[size:]
			continue
		}
		if size = protowire.ConsumeFieldValue(n, typ, b); size < 0 {
			return
		}
		b = b[size:]
	}
}

// refAttributes is what a ResourceService request asks for.
func refAttributes(verb string, ref *apiv1.ResourceRef) authz.Attributes {
	return authz.Attributes{
		Verb: verb, Group: ref.GetGroup(), Version: ref.GetVersion(), Resource: ref.GetResource(), Subresource: ref.GetSubresource(),
		Namespace: ref.GetNamespace(), Name: ref.GetName(),
	}
}
