package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
)

func volumeKinds(o Options) []*Kind {
	return []*Kind{
		entry[*corev1.PersistentVolumeList]("", "v1", "persistentvolumes", rules[*corev1.PersistentVolume]{
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"name"},
			Fields:                   func(pv *corev1.PersistentVolume) fields.Set { return fields.Set{"name": pv.Name} },
		}),
		entry[*corev1.PersistentVolumeClaimList]("", "v1", "persistentvolumeclaims", rules[*corev1.PersistentVolumeClaim]{
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"name"},
			Fields:                   func(c *corev1.PersistentVolumeClaim) fields.Set { return fields.Set{"name": c.Name} },
		}),
	}
}
