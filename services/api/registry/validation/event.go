package validation

import (
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The longest values of an event's fields, in bytes.
const (
	maxReportingInstance = 128
	maxAction            = 128
	maxReason            = 128
	maxNote              = 1024
)

// Event checks an event. Those with an eventTime are of the newer style, which asks for more.
func Event(e *corev1.Event) field.ErrorList {
	var errs field.ErrorList
	involved := field.NewPath("involvedObject", "namespace")
	const mismatch = "does not match event.namespace"
	switch {
	case e.InvolvedObject.Namespace == "":
		if e.Namespace != metav1.NamespaceNone && e.Namespace != metav1.NamespaceDefault {
			errs = append(errs, field.Invalid(involved, e.InvolvedObject.Namespace, mismatch))
		}
	case e.Namespace != e.InvolvedObject.Namespace:
		errs = append(errs, field.Invalid(involved, e.InvolvedObject.Namespace, mismatch))
	}
	if e.EventTime.IsZero() {
		return errs
	}
	if e.ReportingController == "" {
		errs = append(errs, field.Required(field.NewPath("reportingController"), ""))
	}
	errs = append(errs, invalid(field.NewPath("reportingController"), e.ReportingController, validation.IsQualifiedName(e.ReportingController))...)
	errs = append(errs, text(e.ReportingInstance, maxReportingInstance, field.NewPath("reportingInstance"))...)
	errs = append(errs, text(e.Action, maxAction, field.NewPath("action"))...)
	errs = append(errs, text(e.Reason, maxReason, field.NewPath("reason"))...)
	if len(e.Message) > maxNote {
		errs = append(errs, field.Invalid(field.NewPath("message"), "", fmt.Sprintf("can have at most %v characters", maxNote)))
	}
	return errs
}

// text is required and no longer than max bytes.
func text(value string, max int, p *field.Path) field.ErrorList {
	errs := required(value, p)
	if len(value) > max {
		errs = append(errs, field.Invalid(p, "", fmt.Sprintf("can have at most %v characters", max)))
	}
	return errs
}

// EventUpdate checks what changed in an event: of the newer style, only its series may.
func EventUpdate(e, old *corev1.Event) field.ErrorList {
	errs := Event(e)
	if e.EventTime.IsZero() {
		return errs
	}
	fixed := func(name string, now, was any) {
		errs = append(errs, unchanged(now, was, field.NewPath(name))...)
	}
	fixed("involvedObject", e.InvolvedObject, old.InvolvedObject)
	fixed("reason", e.Reason, old.Reason)
	fixed("message", e.Message, old.Message)
	fixed("source", e.Source, old.Source)
	fixed("firstTimestamp", e.FirstTimestamp, old.FirstTimestamp)
	fixed("lastTimestamp", e.LastTimestamp, old.LastTimestamp)
	fixed("count", e.Count, old.Count)
	// A microsecond is the precision that survives storing.
	if !e.EventTime.Time.Truncate(1000).Equal(old.EventTime.Time.Truncate(1000)) {
		errs = append(errs, field.Invalid(field.NewPath("eventTime"), e.EventTime, immutable))
	}
	fixed("action", e.Action, old.Action)
	if !equality.Semantic.DeepEqual(e.Related, old.Related) {
		errs = append(errs, field.Invalid(field.NewPath("related"), e.Related, immutable))
	}
	fixed("reportingController", e.ReportingController, old.ReportingController)
	fixed("reportingInstance", e.ReportingInstance, old.ReportingInstance)
	fixed("type", e.Type, old.Type)
	return errs
}

// Lease checks a lease.
func Lease(l *coordinationv1.Lease) field.ErrorList {
	p := field.NewPath("spec")
	var errs field.ErrorList
	if s := l.Spec.LeaseDurationSeconds; s != nil && *s <= 0 {
		errs = append(errs, field.Invalid(p.Child("leaseDurationSeconds"), *s, "must be greater than 0"))
	}
	if n := l.Spec.LeaseTransitions; n != nil && *n < 0 {
		errs = append(errs, field.Invalid(p.Child("leaseTransitions"), *n, negative))
	}
	if l.Spec.PreferredHolder != nil && *l.Spec.PreferredHolder != "" && valueOr(l.Spec.Strategy, "") == "" {
		errs = append(errs, field.Forbidden(p.Child("preferredHolder"), "may only be specified when `strategy` is defined"))
	}
	return errs
}
