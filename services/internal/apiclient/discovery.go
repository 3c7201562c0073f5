package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// APIResource is a resource that the api serves, built-in or custom.
type APIResource struct {
	schema.GroupVersionResource
	Kind       string
	Namespaced bool
	// Verbs are the discovery verbs: "list", "watch", "deletecollection" and so on.
	Verbs []string
}

// Has tells whether the resource has all the verbs.
func (r APIResource) Has(verbs ...string) bool {
	for _, v := range verbs {
		if !slices.Contains(r.Verbs, v) {
			return false
		}
	}
	return true
}

// Resources lists what the api serves, each resource of a group once, in the group's preferred version that has it.
func (c *Client) Resources(ctx context.Context) ([]APIResource, error) {
	data, err := c.Discover(ctx)
	if err != nil {
		return nil, err
	}
	var doc apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("apiclient: decoding the discovery document: %w", err)
	}
	var out []APIResource
	for _, group := range doc.Items {
		seen := map[string]bool{}
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				if seen[r.Resource] || r.ResponseKind == nil {
					continue
				}
				seen[r.Resource] = true
				out = append(out, APIResource{
					GroupVersionResource: schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: r.Resource},
					Kind:                 r.ResponseKind.Kind, Namespaced: r.Scope == apidiscoveryv2.ScopeNamespace, Verbs: r.Verbs,
				})
			}
		}
	}
	return out, nil
}
