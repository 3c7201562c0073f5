package validation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// StatefulSet checks a stateful set.
func StatefulSet(s *appsv1.StatefulSet) field.ErrorList {
	p, spec := field.NewPath("spec"), &s.Spec
	var errs field.ErrorList
	switch spec.PodManagementPolicy {
	case "":
		errs = append(errs, field.Required(p.Child("podManagementPolicy"), ""))
	case appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement:
	default:
		errs = append(errs, field.Invalid(p.Child("podManagementPolicy"), spec.PodManagementPolicy,
			fmt.Sprintf("must be '%s' or '%s'", appsv1.OrderedReadyPodManagement, appsv1.ParallelPodManagement)))
	}
	errs = append(errs, statefulStrategy(&spec.UpdateStrategy, p.Child("updateStrategy"))...)
	if policy := spec.PersistentVolumeClaimRetentionPolicy; policy != nil {
		at := p.Child("persistentVolumeClaimRetentionPolicy")
		errs = append(errs, oneOf(policy.WhenDeleted, at.Child("whenDeleted"), appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)...)
		errs = append(errs, oneOf(policy.WhenScaled, at.Child("whenScaled"), appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType)...)
	}
	errs = append(errs, nonNegative(valueOr(spec.Replicas, 0), p.Child("replicas"))...)
	errs = append(errs, nonNegative(spec.MinReadySeconds, p.Child("minReadySeconds"))...)
	if spec.Ordinals != nil {
		errs = append(errs, nonNegative(spec.Ordinals.Start, p.Child("ordinals.start"))...)
	}
	errs = append(errs, nonNegativePointer(spec.RevisionHistoryLimit, p.Child("revisionHistoryLimit"))...)
	// A pod's claims become volumes of the same names, which its containers mount.
	template := spec.Template.DeepCopy()
	for i := range spec.VolumeClaimTemplates {
		template.Spec.Volumes = withClaim(template.Spec.Volumes, &spec.VolumeClaimTemplates[i])
	}
	errs = append(errs, selectorAndTemplate(spec.Selector, "statefulset", "StatefulSet", template, p)...)
	return errs
}

func statefulStrategy(s *appsv1.StatefulSetUpdateStrategy, p *field.Path) field.ErrorList {
	switch s.Type {
	case "":
		return field.ErrorList{field.Required(p, "")}
	case appsv1.OnDeleteStatefulSetStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Invalid(p.Child("rollingUpdate"), s.RollingUpdate, fmt.Sprintf("only allowed for updateStrategy '%s'", appsv1.RollingUpdateStatefulSetStrategyType))}
		}
		return nil
	case appsv1.RollingUpdateStatefulSetStrategyType:
		if s.RollingUpdate == nil {
			return nil
		}
		at := p.Child("rollingUpdate")
		errs := nonNegativePointer(s.RollingUpdate.Partition, at.Child("partition"))
		if m := s.RollingUpdate.MaxUnavailable; m != nil {
			errs = append(errs, countOrPercent(m, at.Child("maxUnavailable"))...)
			if isZero(m) {
				errs = append(errs, field.Invalid(at.Child("maxUnavailable"), *m, "cannot be 0"))
			}
			errs = append(errs, atMostAll(m, at.Child("maxUnavailable"))...)
		}
		return errs
	default:
		return field.ErrorList{field.Invalid(p, s, fmt.Sprintf("must be '%s' or '%s'", appsv1.RollingUpdateStatefulSetStrategyType, appsv1.OnDeleteStatefulSetStrategyType))}
	}
}

// StatefulSetUpdate checks what changed in a stateful set.
func StatefulSetUpdate(s, old *appsv1.StatefulSet) field.ErrorList {
	errs := StatefulSet(s)
	rest := s.Spec
	rest.Replicas, rest.Ordinals, rest.Template = old.Spec.Replicas, old.Spec.Ordinals, old.Spec.Template
	rest.UpdateStrategy, rest.MinReadySeconds = old.Spec.UpdateStrategy, old.Spec.MinReadySeconds
	rest.RevisionHistoryLimit = old.Spec.RevisionHistoryLimit
	rest.PersistentVolumeClaimRetentionPolicy = old.Spec.PersistentVolumeClaimRetentionPolicy
	if !equality.Semantic.DeepEqual(rest, old.Spec) {
		errs = append(errs, field.Forbidden(field.NewPath("spec"), "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"))
	}
	return errs
}

// StatefulSetStatus checks a stateful set's new status.
func StatefulSetStatus(s, old *appsv1.StatefulSet) field.ErrorList {
	p, status := field.NewPath("status"), &s.Status
	errs := nonNegative(status.Replicas, p.Child("replicas"))
	errs = append(errs, nonNegative(status.ReadyReplicas, p.Child("readyReplicas"))...)
	errs = append(errs, nonNegative(status.CurrentReplicas, p.Child("currentReplicas"))...)
	errs = append(errs, nonNegative(status.UpdatedReplicas, p.Child("updatedReplicas"))...)
	errs = append(errs, nonNegative(status.AvailableReplicas, p.Child("availableReplicas"))...)
	errs = append(errs, atMost(status.ReadyReplicas, status.Replicas, p.Child("readyReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(status.CurrentReplicas, status.Replicas, p.Child("currentReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(status.UpdatedReplicas, status.Replicas, p.Child("updatedReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(status.AvailableReplicas, status.Replicas, p.Child("availableReplicas"), "cannot be greater than status.replicas")...)
	return append(errs, atMost(status.AvailableReplicas, status.ReadyReplicas, p.Child("availableReplicas"), "cannot be greater than status.readyReplicas")...)
}

// DaemonSet checks a daemon set.
func DaemonSet(ds *appsv1.DaemonSet) field.ErrorList {
	p, spec := field.NewPath("spec"), &ds.Spec
	errs := selectorAndTemplate(spec.Selector, "daemonset", "DaemonSet", &spec.Template, p)
	errs = append(errs, nonNegative(spec.MinReadySeconds, p.Child("minReadySeconds"))...)
	errs = append(errs, daemonStrategy(&spec.UpdateStrategy, p.Child("updateStrategy"))...)
	return append(errs, nonNegativePointer(spec.RevisionHistoryLimit, p.Child("revisionHistoryLimit"))...)
}

func daemonStrategy(s *appsv1.DaemonSetUpdateStrategy, p *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.OnDeleteDaemonSetStrategyType:
		return nil
	case appsv1.RollingUpdateDaemonSetStrategyType:
	default:
		return field.ErrorList{field.NotSupported(p, s, []appsv1.DaemonSetUpdateStrategyType{appsv1.RollingUpdateDaemonSetStrategyType, appsv1.OnDeleteDaemonSetStrategyType})}
	}
	u, at := s.RollingUpdate, p.Child("rollingUpdate")
	if u == nil {
		return field.ErrorList{field.Required(at, "")}
	}
	errs := countOrPercent(u.MaxUnavailable, at.Child("maxUnavailable"))
	errs = append(errs, atMostAll(u.MaxUnavailable, at.Child("maxUnavailable"))...)
	errs = append(errs, countOrPercent(u.MaxSurge, at.Child("maxSurge"))...)
	errs = append(errs, atMostAll(u.MaxSurge, at.Child("maxSurge"))...)
	down, surge := u.MaxUnavailable != nil && !isZero(u.MaxUnavailable), u.MaxSurge != nil && !isZero(u.MaxSurge)
	switch {
	case down && surge:
		errs = append(errs, field.Invalid(at.Child("maxSurge"), u.MaxSurge, "may not be set when maxUnavailable is non-zero"))
	case !down && !surge:
		errs = append(errs, field.Required(at.Child("maxUnavailable"), "cannot be 0 when maxSurge is 0"))
	}
	return errs
}

// DaemonSetUpdate checks what changed in a daemon set.
func DaemonSetUpdate(ds, old *appsv1.DaemonSet) field.ErrorList {
	return append(DaemonSet(ds), unchanged(ds.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

// DaemonSetStatus checks a daemon set's new status.
func DaemonSetStatus(ds, _ *appsv1.DaemonSet) field.ErrorList {
	p, s := field.NewPath("status"), &ds.Status
	errs := nonNegative(s.CurrentNumberScheduled, p.Child("currentNumberScheduled"))
	errs = append(errs, nonNegative(s.NumberMisscheduled, p.Child("numberMisscheduled"))...)
	errs = append(errs, nonNegative(s.DesiredNumberScheduled, p.Child("desiredNumberScheduled"))...)
	errs = append(errs, nonNegative(s.NumberReady, p.Child("numberReady"))...)
	errs = append(errs, nonNegative(s.ObservedGeneration, p.Child("observedGeneration"))...)
	errs = append(errs, nonNegative(s.UpdatedNumberScheduled, p.Child("updatedNumberScheduled"))...)
	errs = append(errs, nonNegative(s.NumberAvailable, p.Child("numberAvailable"))...)
	return append(errs, nonNegative(s.NumberUnavailable, p.Child("numberUnavailable"))...)
}
