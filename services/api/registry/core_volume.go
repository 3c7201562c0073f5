package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func volumeKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.PersistentVolumeList]("", "v1", "persistentvolumes", rules[*corev1.PersistentVolume]{
			Default:                  defaults.PersistentVolume,
			Validate:                 validation.PersistentVolume,
			ValidateUpdate:           validation.PersistentVolumeUpdate,
			PrepareCreate:            func(_ context.Context, pv *corev1.PersistentVolume) { pv.Status.Phase = corev1.VolumePending },
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"name"},
			Fields:                   func(pv *corev1.PersistentVolume) fields.Set { return fields.Set{"name": pv.Name} },
			Columns:                  tables.PersistentVolumeColumns,
			Row:                      row.PersistentVolume,
		}),
		entry[*corev1.PersistentVolumeClaimList]("", "v1", "persistentvolumeclaims", rules[*corev1.PersistentVolumeClaim]{
			Default:                  defaults.PersistentVolumeClaim,
			Validate:                 validation.PersistentVolumeClaim,
			ValidateUpdate:           validation.PersistentVolumeClaimUpdate,
			PrepareCreate:            func(_ context.Context, c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending },
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"name"},
			Fields:                   func(c *corev1.PersistentVolumeClaim) fields.Set { return fields.Set{"name": c.Name} },
			Columns:                  tables.PersistentVolumeClaimColumns,
			Row:                      row.PersistentVolumeClaim,
		}),
	}
}
