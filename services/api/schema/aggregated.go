package schema

import (
	"encoding/json"
	"fmt"

	"github.com/munnerz/goautoneg"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/registry"
)

const aggregatedParams = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// acceptsAggregated says whether a client prefers aggregated discovery (KEP-3352), and in which media type.
func acceptsAggregated(accept string) (mediaType string, ok bool) {
	for _, clause := range goautoneg.ParseAccept(accept) {
		if clause.Type != "application" && clause.Type != "*" {
			continue
		}
		p := clause.Params
		aggregated := p["g"] == "apidiscovery.k8s.io" && p["v"] == "v2" && p["as"] == "APIGroupDiscoveryList"
		switch {
		case aggregated && (clause.SubType == "json" || clause.SubType == "*"):
			return negotiate.JSON, true
		case aggregated && clause.SubType == "vnd.kubernetes.protobuf":
			return negotiate.Protobuf, true
		case p["as"] == "" && (clause.SubType == "json" || clause.SubType == "*" || clause.SubType == "yaml" || clause.SubType == "vnd.kubernetes.protobuf"):
			return "", false
		}
	}
	return "", false
}

// aggregated is every group, version and resource below path in one document.
func (d *Documents) aggregated(path, mediaType, ifNoneMatch string) (Document, error) {
	gvk := apidiscoveryv2.SchemeGroupVersion.WithKind("APIGroupDiscoveryList")
	body, err := d.kept("aggregated "+path+mediaType, func() ([]byte, error) {
		list := &apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: gvk.Kind, APIVersion: gvk.GroupVersion().String()}}
		for _, g := range d.groups {
			if (g.name == "") == (path == "/api") {
				list.Items = append(list.Items, g.aggregated())
			}
		}
		if mediaType == negotiate.JSON {
			return json.Marshal(list)
		}
		parts, err := negotiate.Plain(list, gvk).Encode(negotiate.Format{MediaType: mediaType})
		if err != nil {
			return nil, err
		}
		var b []byte
		for _, p := range parts {
			b = append(b, p...)
		}
		return b, nil
	})
	if err != nil {
		return Document{}, fmt.Errorf("building discovery: %w", err)
	}
	return tagged(Document{ContentType: mediaType + aggregatedParams, Body: body}, hashOf(body), ifNoneMatch), nil
}

func (g group) aggregated() apidiscoveryv2.APIGroupDiscovery {
	out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
	for _, v := range g.versions {
		version := apidiscoveryv2.APIVersionDiscovery{Version: v.Version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
		for _, k := range v.kinds {
			version.Resources = append(version.Resources, aggregatedResource(k))
		}
		out.Versions = append(out.Versions, version)
	}
	return out
}

func aggregatedResource(k *registry.Kind) apidiscoveryv2.APIResourceDiscovery {
	r := apidiscoveryv2.APIResourceDiscovery{
		Resource: k.Plural, SingularResource: k.Singular, Verbs: k.Verbs, ShortNames: k.ShortNames, Categories: k.Categories,
		ResponseKind: &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind.Kind},
		Scope:        apidiscoveryv2.ScopeCluster,
	}
	if k.Namespaced {
		r.Scope = apidiscoveryv2.ScopeNamespace
	}
	for _, name := range k.Subresources {
		s, ok := k.Sub(name)
		if !ok {
			continue
		}
		kind := &metav1.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind.Kind}
		if s.Kind != "" {
			kind = &metav1.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}
		}
		r.Subresources = append(r.Subresources, apidiscoveryv2.APISubresourceDiscovery{Subresource: name, ResponseKind: kind, Verbs: s.Verbs})
	}
	return r
}
