package registry

import (
	schedulingv1 "k8s.io/api/scheduling/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func schedulingKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*schedulingv1.PriorityClassList]("scheduling.k8s.io", "v1", "priorityclasses", rules[*schedulingv1.PriorityClass]{
			Default:                  defaults.PriorityClass,
			Validate:                 validation.PriorityClass,
			ValidateUpdate:           validation.PriorityClassUpdate,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.PriorityClassColumns,
			Row:                      row.PriorityClass,
		}),
	}
}
