package registry

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

func discoveryKinds(o Options) []*Kind {
	return []*Kind{
		entry[*discoveryv1.EndpointSliceList]("discovery.k8s.io", "v1", "endpointslices", rules[*discoveryv1.EndpointSlice]{
			Default:                  defaults.EndpointSlice,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
	}
}
