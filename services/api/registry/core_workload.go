package registry

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func workloadKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.ReplicationControllerList]("", "v1", "replicationcontrollers", rules[*corev1.ReplicationController]{
			Default:                  defaults.ReplicationController,
			Validate:                 validation.ReplicationController,
			ValidateStatus:           validation.ReplicationControllerStatus,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			DefaultPropagation:       metav1.DeletePropagationOrphan,
			FieldNames:               []string{"status.replicas"},
			Fields: func(rc *corev1.ReplicationController) fields.Set {
				return fields.Set{"status.replicas": strconv.Itoa(int(rc.Status.Replicas))}
			},
			GetScale: func(rc *corev1.ReplicationController) (int32, int32, string) {
				return valueOr(rc.Spec.Replicas, 0), rc.Status.Replicas, labels.Set(rc.Spec.Selector).String()
			},
			SetScale: func(rc *corev1.ReplicationController, replicas int32) { rc.Spec.Replicas = &replicas },
			Columns:  tables.ReplicationControllerColumns,
			Row:      row.ReplicationController,
		}),
	}
}

// valueOr is *p, or the fallback without one.
func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

// selectorString is the selector as a scale subresource shows it; an invalid one, which no stored object has, is empty.
func selectorString(s *metav1.LabelSelector) string {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return ""
	}
	return selector.String()
}
