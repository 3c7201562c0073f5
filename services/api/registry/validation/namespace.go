package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Namespace checks a namespace.
func Namespace(ns *corev1.Namespace) field.ErrorList {
	var errs field.ErrorList
	for _, f := range ns.Spec.Finalizers {
		errs = append(errs, finalizerName(string(f), field.NewPath("spec", "finalizers"))...)
	}
	return errs
}

// standardFinalizers may have a name without a domain.
var standardFinalizers = map[string]bool{"kubernetes": true, "orphan": true, "foregroundDeletion": true}

func finalizerName(name string, p *field.Path) field.ErrorList {
	errs := invalid(p, name, validation.IsQualifiedName(name))
	if len(errs) == 0 && !strings.Contains(name, "/") && !standardFinalizers[name] {
		errs = append(errs, field.Invalid(p, name, "name is neither a standard finalizer name nor is it fully qualified"))
	}
	return errs
}

// NamespaceStatus checks a namespace's new status: it agrees with whether the namespace is being deleted.
func NamespaceStatus(ns, _ *corev1.Namespace) field.ErrorList {
	p := field.NewPath("status", "Phase")
	if ns.DeletionTimestamp.IsZero() {
		if ns.Status.Phase != corev1.NamespaceActive {
			return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Active' if `deletionTimestamp` is empty")}
		}
	} else if ns.Status.Phase != corev1.NamespaceTerminating {
		return field.ErrorList{field.Invalid(p, ns.Status.Phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")}
	}
	return nil
}
