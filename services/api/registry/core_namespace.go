package registry

import (
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
)

func namespaceKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.NamespaceList]("", "v1", "namespaces", rules[*corev1.Namespace]{
			Default:                  defaults.Namespace,
			AllowUnconditionalUpdate: true,
			NameCheck:                apivalidation.NameIsDNSLabel,
			HoldDeletion:             func(ns *corev1.Namespace) bool { return len(ns.Spec.Finalizers) > 0 },
			BeginDeletion:            func(ns *corev1.Namespace) { ns.Status.Phase = corev1.NamespaceTerminating },
			FieldNames:               []string{"status.phase", "name"},
			Fields: func(ns *corev1.Namespace) fields.Set {
				return fields.Set{"status.phase": string(ns.Status.Phase), "name": ns.Name}
			},
			Columns: tables.NamespaceColumns,
			Row:     row.Namespace,
		}),
	}
}
