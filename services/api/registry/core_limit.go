package registry

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func limitKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.LimitRangeList]("", "v1", "limitranges", rules[*corev1.LimitRange]{
			Default:                  defaults.LimitRange,
			Validate:                 validation.LimitRange,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
		}),
		entry[*corev1.ResourceQuotaList]("", "v1", "resourcequotas", rules[*corev1.ResourceQuota]{
			Default:                  defaults.ResourceQuota,
			Validate:                 validation.ResourceQuota,
			ValidateUpdate:           validation.ResourceQuotaUpdate,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ResourceQuotaColumns,
			Row:                      row.ResourceQuota,
		}),
	}
}
