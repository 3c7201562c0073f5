package registry

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func namespaceKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.NamespaceList]("", "v1", "namespaces", rules[*corev1.Namespace]{
			Default:        defaults.Namespace,
			Validate:       validation.Namespace,
			ValidateStatus: validation.NamespaceStatus,
			ValidatePart:   func(_ string, ns, _ *corev1.Namespace) field.ErrorList { return validation.Namespace(ns) },
			PrepareCreate: func(_ context.Context, ns *corev1.Namespace) {
				defaults.Namespace(ns) // a generated name comes after the defaults
				ns.Status = corev1.NamespaceStatus{Phase: corev1.NamespaceActive}
				if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
					ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
				}
			},
			// Finalizers of the namespace's content go through the "finalize" subresource.
			PrepareUpdate:            func(_ context.Context, ns, old *corev1.Namespace) { ns.Spec.Finalizers = old.Spec.Finalizers },
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
