package registry

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
)

func resourceKinds(o Options) []*Kind {
	row := o.rows()
	const group = "resource.k8s.io"
	return []*Kind{
		entry[*resourcev1.ResourceClaimList](group, "v1", "resourceclaims", rules[*resourcev1.ResourceClaim]{
			Default:                  defaults.ResourceClaim,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ResourceClaimColumns,
			Row:                      row.ResourceClaim,
		}),
		entry[*resourcev1.ResourceClaimTemplateList](group, "v1", "resourceclaimtemplates", rules[*resourcev1.ResourceClaimTemplate]{
			Default:                  defaults.ResourceClaimTemplate,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.DeviceColumns,
			Row:                      row.ResourceClaimTemplate,
		}),
		entry[*resourcev1.DeviceClassList](group, "v1", "deviceclasses", rules[*resourcev1.DeviceClass]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.DeviceColumns,
			Row:                      row.DeviceClass,
		}),
		entry[*resourcev1.DeviceTaintRuleList](group, "v1", "devicetaintrules", rules[*resourcev1.DeviceTaintRule]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
		entry[*resourcev1.ResourceSliceList](group, "v1", "resourceslices", rules[*resourcev1.ResourceSlice]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"spec.nodeName", "spec.driver"},
			Fields: func(s *resourcev1.ResourceSlice) fields.Set {
				return fields.Set{"spec.nodeName": valueOr(s.Spec.NodeName, ""), "spec.driver": s.Spec.Driver}
			},
			Columns: tables.ResourceSliceColumns,
			Row:     row.ResourceSlice,
		}),
	}
}
