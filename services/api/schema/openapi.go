package schema

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/builder"
	"k8s.io/kube-openapi/pkg/builder3"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/orrery-io/orrery/gen/openapi"
	"github.com/orrery-io/orrery/services/api/negotiate"
)

// Media types of OpenAPI documents in protobuf.
const (
	protoV2 = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	protoV3 = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
)

func info() *spec.Info {
	return &spec.Info{InfoProps: spec.InfoProps{Title: "Kubernetes", Version: KubernetesVersion}}
}

// openAPIv2 is the document of the whole API in OpenAPI 2.
func (d *Documents) openAPIv2(accept, ifNoneMatch string) (Document, error) {
	asJSON := func() ([]byte, error) { return d.kept("openapi v2", d.buildV2) }
	switch {
	case strings.Contains(accept, protoV2):
		body, err := d.kept("openapi v2 protobuf", func() ([]byte, error) {
			b, err := asJSON()
			if err != nil {
				return nil, err
			}
			document, err := openapi_v2.ParseDocument(b)
			if err != nil {
				return nil, fmt.Errorf("converting OpenAPI to protobuf: %w", err)
			}
			return proto.Marshal(document)
		})
		if err != nil {
			return Document{}, err
		}
		return tagged(Document{ContentType: protoV2, Body: body}, d.hash("v2 protobuf"), ifNoneMatch), nil
	case negotiate.Covers(accept, negotiate.JSON):
		body, err := asJSON()
		if err != nil {
			return Document{}, err
		}
		return tagged(Document{ContentType: negotiate.JSON, Body: body}, d.hash("v2"), ifNoneMatch), nil
	}
	return Document{}, negotiate.NotAcceptable(negotiate.JSON, protoV2)
}

func (d *Documents) buildV2() ([]byte, error) {
	defs, err := definitions("#/definitions/")
	if err != nil {
		return nil, err
	}
	var containers []common.RouteContainer
	for _, g := range d.groups {
		for _, v := range g.versions {
			containers = append(containers, routesOf(v))
		}
	}
	swagger, err := builder.BuildOpenAPISpecFromRoutes(containers, &common.Config{
		ProtocolList: []string{"https"}, Info: info(), GetDefinitionName: namer(d.kinds),
		GetDefinitions: func(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return defs },
	})
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI 2 document: %w", err)
	}
	return json.Marshal(swagger)
}

// hash changes whenever the documents may: they follow from the generated definitions and the code that reads them.
func (d *Documents) hash(document string) string {
	h, _ := d.kept("hash "+document, func() ([]byte, error) {
		return []byte(hashOf(openapi.Definitions, []byte(KubernetesVersion+" 1 "+document))), nil
	})
	return string(h)
}

// v3Name is the name of a group version's document: "api/v1" or "apis/apps/v1".
func v3Name(v groupVersion) string {
	if v.Group == "" {
		return "api/" + v.Version
	}
	return "apis/" + v.Group + "/" + v.Version
}

// openAPIv3Index lists the documents of OpenAPI 3, each with a URL that names its content.
func (d *Documents) openAPIv3Index(accept string) (Document, error) {
	return d.json("openapi v3", accept, func() ([]byte, error) {
		type entry struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		}
		paths := map[string]entry{}
		for _, g := range d.groups {
			for _, v := range g.versions {
				name := v3Name(v)
				paths[name] = entry{"/openapi/v3/" + name + "?hash=" + d.hash(name)}
			}
		}
		return json.Marshal(map[string]any{"paths": paths})
	})
}

// openAPIv3 is the document of one group version. With the right hash it may be cached for good; with another, the client is sent to
// the right one.
func (d *Documents) openAPIv3(name string, query url.Values, accept, ifNoneMatch string) (Document, bool, error) {
	var version *groupVersion
	for _, g := range d.groups {
		for i := range g.versions {
			if v3Name(g.versions[i]) == name {
				version = &g.versions[i]
			}
		}
	}
	if version == nil {
		return Document{}, false, nil
	}
	hash := d.hash(name)
	asked := query.Get("hash")
	if asked != "" && asked != hash {
		return Document{Code: http.StatusMovedPermanently, ContentType: "text/plain", Headers: map[string]string{"location": "/openapi/v3/" + name + "?hash=" + hash}}, true, nil
	}
	doc := Document{ContentType: negotiate.JSON}
	var err error
	asJSON := func() ([]byte, error) {
		return d.kept("openapi v3 "+name, func() ([]byte, error) { return d.buildV3(*version) })
	}
	switch {
	case strings.Contains(accept, protoV3):
		doc.ContentType = protoV3
		doc.Body, err = d.kept("openapi v3 protobuf "+name, func() ([]byte, error) {
			b, err := asJSON()
			if err != nil {
				return nil, err
			}
			document, err := openapi_v3.ParseDocument(b)
			if err != nil {
				return nil, fmt.Errorf("converting OpenAPI to protobuf: %w", err)
			}
			return proto.Marshal(document)
		})
	case negotiate.Covers(accept, negotiate.JSON):
		doc.Body, err = asJSON()
	default:
		return Document{}, true, negotiate.NotAcceptable(negotiate.JSON, protoV3)
	}
	if err != nil {
		return Document{}, true, err
	}
	doc = tagged(doc, hash, ifNoneMatch)
	if asked != "" {
		doc.Headers["cache-control"] = "public, immutable"
	}
	return doc, true, nil
}

func (d *Documents) buildV3(v groupVersion) ([]byte, error) {
	defs, err := definitions("#/components/schemas/")
	if err != nil {
		return nil, err
	}
	document, err := builder3.BuildOpenAPISpecFromRoutes([]common.RouteContainer{routesOf(v)}, &common.OpenAPIV3Config{
		Info: info(), GetDefinitionName: namer(d.kinds), Definitions: defs,
	})
	if err != nil {
		return nil, fmt.Errorf("building the OpenAPI 3 document of %s: %w", v.GroupVersion, err)
	}
	return json.Marshal(document)
}
