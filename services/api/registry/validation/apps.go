package validation

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Deployment checks a deployment.
func Deployment(d *appsv1.Deployment) field.ErrorList {
	p, spec := field.NewPath("spec"), &d.Spec
	errs := nonNegative(valueOr(spec.Replicas, 0), p.Child("replicas"))
	errs = append(errs, selectorAndTemplate(spec.Selector, "deployment", "ReplicaSet", &spec.Template, p)...)
	errs = append(errs, deploymentStrategy(&spec.Strategy, p.Child("strategy"))...)
	errs = append(errs, nonNegative(spec.MinReadySeconds, p.Child("minReadySeconds"))...)
	errs = append(errs, nonNegativePointer(spec.RevisionHistoryLimit, p.Child("revisionHistoryLimit"))...)
	if s := spec.ProgressDeadlineSeconds; s != nil {
		errs = append(errs, nonNegative(*s, p.Child("progressDeadlineSeconds"))...)
		if *s <= spec.MinReadySeconds {
			errs = append(errs, field.Invalid(p.Child("progressDeadlineSeconds"), *s, "must be greater than minReadySeconds"))
		}
	}
	return errs
}

// DeploymentUpdate checks what changed in a deployment.
func DeploymentUpdate(d, old *appsv1.Deployment) field.ErrorList {
	return append(Deployment(d), unchanged(d.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

// DeploymentStatus checks a deployment's new status.
func DeploymentStatus(d, old *appsv1.Deployment) field.ErrorList {
	p, s := field.NewPath("status"), &d.Status
	errs := nonNegative(s.ObservedGeneration, p.Child("observedGeneration"))
	errs = append(errs, nonNegative(s.Replicas, p.Child("replicas"))...)
	errs = append(errs, nonNegative(s.UpdatedReplicas, p.Child("updatedReplicas"))...)
	errs = append(errs, nonNegative(s.ReadyReplicas, p.Child("readyReplicas"))...)
	errs = append(errs, nonNegative(s.AvailableReplicas, p.Child("availableReplicas"))...)
	errs = append(errs, nonNegative(s.UnavailableReplicas, p.Child("unavailableReplicas"))...)
	errs = append(errs, nonNegativePointer(s.CollisionCount, p.Child("collisionCount"))...)
	errs = append(errs, atMost(s.UpdatedReplicas, s.Replicas, p.Child("updatedReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(s.ReadyReplicas, s.Replicas, p.Child("readyReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(s.AvailableReplicas, s.Replicas, p.Child("availableReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(s.AvailableReplicas, s.ReadyReplicas, p.Child("availableReplicas"), "cannot be greater than readyReplicas")...)
	if was := old.Status.CollisionCount; was != nil {
		if now := s.CollisionCount; now == nil || *now < *was {
			errs = append(errs, field.Invalid(p.Child("collisionCount"), valueOr(now, 0), "cannot be decremented"))
		}
	}
	return errs
}

func atMost(value, limit int32, p *field.Path, message string) field.ErrorList {
	if value > limit {
		return field.ErrorList{field.Invalid(p, value, message)}
	}
	return nil
}

func deploymentStrategy(s *appsv1.DeploymentStrategy, p *field.Path) field.ErrorList {
	switch s.Type {
	case appsv1.RecreateDeploymentStrategyType:
		if s.RollingUpdate != nil {
			return field.ErrorList{field.Forbidden(p.Child("rollingUpdate"), "may not be specified when strategy `type` is '"+string(appsv1.RecreateDeploymentStrategyType)+"'")}
		}
		return nil
	case appsv1.RollingUpdateDeploymentStrategyType:
		if s.RollingUpdate == nil {
			return field.ErrorList{field.Required(p.Child("rollingUpdate"), "this should be defaulted and never be nil")}
		}
		return rollingUpdate(s.RollingUpdate, p.Child("rollingUpdate"))
	default:
		return field.ErrorList{field.NotSupported(p, s, []appsv1.DeploymentStrategyType{appsv1.RecreateDeploymentStrategyType, appsv1.RollingUpdateDeploymentStrategyType})}
	}
}

func rollingUpdate(u *appsv1.RollingUpdateDeployment, p *field.Path) field.ErrorList {
	errs := countOrPercent(u.MaxUnavailable, p.Child("maxUnavailable"))
	errs = append(errs, countOrPercent(u.MaxSurge, p.Child("maxSurge"))...)
	if isZero(u.MaxUnavailable) && isZero(u.MaxSurge) {
		errs = append(errs, field.Invalid(p.Child("maxUnavailable"), *u.MaxUnavailable, "may not be 0 when `maxSurge` is 0"))
	}
	return append(errs, atMostAll(u.MaxUnavailable, p.Child("maxUnavailable"))...)
}

// selectorAndTemplate checks a workload's selector and the template, whose pods it must select and keep running.
func selectorAndTemplate(s *metav1.LabelSelector, kind, title string, t *corev1.PodTemplateSpec, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s == nil {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	} else {
		errs = append(errs, labelSelector(s, p.Child("selector"))...)
		if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			errs = append(errs, field.Invalid(p.Child("selector"), s, "empty selector is invalid for "+kind))
		}
	}
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		errs = append(errs, field.Invalid(p.Child("selector"), s, "invalid label selector"))
	} else if !selector.Empty() && !selector.Matches(labels.Set(t.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), t.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, podTemplateSpec(t, p.Child("template"))...)
	return append(errs, alwaysRunning(t, title, p.Child("template", "spec"))...)
}

// alwaysRunning: pods of a workload that should always run are restarted for ever.
func alwaysRunning(t *corev1.PodTemplateSpec, title string, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if t.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		errs = append(errs, field.NotSupported(p.Child("restartPolicy"), t.Spec.RestartPolicy, []corev1.RestartPolicy{corev1.RestartPolicyAlways}))
	}
	if t.Spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, field.Forbidden(p.Child("activeDeadlineSeconds"), fmt.Sprintf("activeDeadlineSeconds in %s is not Supported", title)))
	}
	return errs
}

// ReplicaSet checks a replica set.
func ReplicaSet(rs *appsv1.ReplicaSet) field.ErrorList {
	p, spec := field.NewPath("spec"), &rs.Spec
	errs := nonNegative(valueOr(spec.Replicas, 0), p.Child("replicas"))
	errs = append(errs, nonNegative(spec.MinReadySeconds, p.Child("minReadySeconds"))...)
	// Kubernetes says "deployment" here, too.
	return append(errs, selectorAndTemplate(spec.Selector, "deployment", "ReplicaSet", &spec.Template, p)...)
}

// ReplicaSetUpdate checks what changed in a replica set.
func ReplicaSetUpdate(rs, old *appsv1.ReplicaSet) field.ErrorList {
	return append(ReplicaSet(rs), unchanged(rs.Spec.Selector, old.Spec.Selector, field.NewPath("spec", "selector"))...)
}

// ReplicaSetStatus checks a replica set's new status.
func ReplicaSetStatus(rs, _ *appsv1.ReplicaSet) field.ErrorList {
	s := &rs.Status
	return replicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
}

func replicaCounts(replicas, labeled, ready, available int32, observed int64) field.ErrorList {
	p := field.NewPath("status")
	errs := nonNegative(replicas, p.Child("replicas"))
	errs = append(errs, nonNegative(labeled, p.Child("fullyLabeledReplicas"))...)
	errs = append(errs, nonNegative(ready, p.Child("readyReplicas"))...)
	errs = append(errs, nonNegative(available, p.Child("availableReplicas"))...)
	errs = append(errs, nonNegative(observed, p.Child("observedGeneration"))...)
	errs = append(errs, atMost(labeled, replicas, p.Child("fullyLabeledReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(ready, replicas, p.Child("readyReplicas"), "cannot be greater than status.replicas")...)
	errs = append(errs, atMost(available, replicas, p.Child("availableReplicas"), "cannot be greater than status.replicas")...)
	return append(errs, atMost(available, ready, p.Child("availableReplicas"), "cannot be greater than readyReplicas")...)
}

// ReplicationController checks a replication controller, whose selector is a set of labels.
func ReplicationController(rc *corev1.ReplicationController) field.ErrorList {
	p, spec := field.NewPath("spec"), &rc.Spec
	errs := nonNegative(spec.MinReadySeconds, p.Child("minReadySeconds"))
	if len(spec.Selector) == 0 {
		errs = append(errs, field.Required(p.Child("selector"), ""))
	}
	errs = append(errs, nonNegative(valueOr(spec.Replicas, 0), p.Child("replicas"))...)
	if spec.Template == nil {
		return append(errs, field.Required(p.Child("template"), ""))
	}
	if len(spec.Selector) > 0 && !labels.SelectorFromSet(spec.Selector).Matches(labels.Set(spec.Template.Labels)) {
		errs = append(errs, field.Invalid(p.Child("template", "metadata", "labels"), spec.Template.Labels, "`selector` does not match template `labels`"))
	}
	errs = append(errs, podTemplateSpec(spec.Template, p.Child("template"))...)
	return append(errs, alwaysRunning(spec.Template, "ReplicationController", p.Child("template", "spec"))...)
}

// ReplicationControllerStatus checks a replication controller's new status.
func ReplicationControllerStatus(rc, _ *corev1.ReplicationController) field.ErrorList {
	s := &rc.Status
	return replicaCounts(s.Replicas, s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
}

// ControllerRevision checks a controller revision.
func ControllerRevision(c *appsv1.ControllerRevision) field.ErrorList {
	var errs field.ErrorList
	if c.Data.Raw == nil && c.Data.Object == nil {
		errs = append(errs, field.Required(field.NewPath("data"), "data is mandatory"))
	}
	return append(errs, nonNegative(c.Revision, field.NewPath("revision"))...)
}

// ControllerRevisionUpdate checks what changed in a controller revision.
func ControllerRevisionUpdate(c, old *appsv1.ControllerRevision) field.ErrorList {
	errs := ControllerRevision(c)
	if !equality.Semantic.DeepEqual(c.Data.Raw, old.Data.Raw) {
		errs = append(errs, field.Invalid(field.NewPath("data"), string(c.Data.Raw), immutable))
	}
	return errs
}
