package registry

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func discoveryKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*discoveryv1.EndpointSliceList]("discovery.k8s.io", "v1", "endpointslices", rules[*discoveryv1.EndpointSlice]{
			Default:                  defaults.EndpointSlice,
			Validate:                 validation.EndpointSlice,
			ValidateUpdate:           validation.EndpointSliceUpdate,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.EndpointSliceColumns,
			Row:                      row.EndpointSlice,
		}),
	}
}
