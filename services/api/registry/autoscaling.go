package registry

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry/convert"
	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

// autoscalingKinds are the autoscaler in its two versions, stored as v2.
func autoscalingKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*autoscalingv2.HorizontalPodAutoscalerList]("autoscaling", "v2", "horizontalpodautoscalers", rules[*autoscalingv2.HorizontalPodAutoscaler]{
			Default:                  defaults.Autoscaler,
			Validate:                 validation.Autoscaler,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.AutoscalerColumns,
			Row:                      row.Autoscaler,
		}),
		entry[*autoscalingv1.HorizontalPodAutoscalerList]("autoscaling", "v1", "horizontalpodautoscalers", rules[*autoscalingv1.HorizontalPodAutoscaler]{
			Default:                  defaults.AutoscalerV1,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.AutoscalerColumns,
			Row: func(a *autoscalingv1.HorizontalPodAutoscaler) []any {
				stored, err := convert.AutoscalerToV2(a)
				if err != nil { // only annotations are wrong, which the table does not show
					stored = &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: a.ObjectMeta}
				}
				return row.Autoscaler(stored)
			},
			Alias: &Alias{
				Group: "autoscaling", Version: "v2", Plural: "horizontalpodautoscalers",
				ToStored: func(view object.Object) (object.Object, error) {
					return convert.AutoscalerToV2(view.(*autoscalingv1.HorizontalPodAutoscaler))
				},
				FromStored: func(stored object.Object) (object.Object, error) {
					return convert.AutoscalerFromV2(stored.(*autoscalingv2.HorizontalPodAutoscaler))
				},
			},
		}),
	}
}
