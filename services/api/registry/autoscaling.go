package registry

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"

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
			Default: defaults.AutoscalerV1,
			Validate: func(a *autoscalingv1.HorizontalPodAutoscaler) field.ErrorList {
				stored, err := storedAutoscaler(a)
				if err != nil {
					return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations"), a.Annotations, err.Error())}
				}
				return validation.Autoscaler(stored)
			},
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
					stored, err := storedAutoscaler(view.(*autoscalingv1.HorizontalPodAutoscaler))
					if err != nil {
						return nil, err
					}
					return stored, nil
				},
				FromStored: func(stored object.Object) (object.Object, error) {
					view, err := convert.AutoscalerFromV2(stored.(*autoscalingv2.HorizontalPodAutoscaler))
					if err != nil {
						return nil, err
					}
					return view, nil
				},
			},
		}),
	}
}

// storedAutoscaler is what is stored of a v1 autoscaler: v2 has defaults of its own.
func storedAutoscaler(a *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	stored, err := convert.AutoscalerToV2(a)
	if err != nil {
		return nil, err
	}
	defaults.Autoscaler(stored)
	return stored, nil
}
