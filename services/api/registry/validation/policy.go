package validation

import (
	"fmt"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// DisruptionBudget checks a pod disruption budget.
func DisruptionBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	p, spec := field.NewPath("spec"), &b.Spec
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs, field.Invalid(p, *spec, "minAvailable and maxUnavailable cannot be both set"))
	}
	errs = append(errs, countOrPercent(spec.MinAvailable, p.Child("minAvailable"))...)
	errs = append(errs, atMostAll(spec.MinAvailable, p.Child("minAvailable"))...)
	errs = append(errs, countOrPercent(spec.MaxUnavailable, p.Child("maxUnavailable"))...)
	errs = append(errs, atMostAll(spec.MaxUnavailable, p.Child("maxUnavailable"))...)
	errs = append(errs, labelSelector(spec.Selector, p.Child("selector"))...)
	if policy := spec.UnhealthyPodEvictionPolicy; policy != nil {
		errs = append(errs, oneOf(*policy, p.Child("unhealthyPodEvictionPolicy"), policyv1.AlwaysAllow, policyv1.IfHealthyBudget)...)
	}
	return errs
}

// DisruptionBudgetStatus checks a pod disruption budget's new status.
func DisruptionBudgetStatus(b, _ *policyv1.PodDisruptionBudget) field.ErrorList {
	p, s := field.NewPath("status"), &b.Status
	errs := nonNegative(s.DisruptionsAllowed, p.Child("disruptionsAllowed"))
	errs = append(errs, nonNegative(s.CurrentHealthy, p.Child("currentHealthy"))...)
	errs = append(errs, nonNegative(s.DesiredHealthy, p.Child("desiredHealthy"))...)
	return append(errs, nonNegative(s.ExpectedPods, p.Child("expectedPods"))...)
}

// Autoscaler checks a horizontal pod autoscaler.
func Autoscaler(a *autoscalingv2.HorizontalPodAutoscaler) field.ErrorList {
	p, spec := field.NewPath("spec"), &a.Spec
	var errs field.ErrorList
	if m := spec.MinReplicas; m != nil && *m < 1 {
		errs = append(errs, field.Invalid(p.Child("minReplicas"), *m, "must be greater than or equal to 1"))
	}
	if spec.MaxReplicas < 1 {
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), spec.MaxReplicas, "must be greater than 0"))
	}
	if m := spec.MinReplicas; m != nil && spec.MaxReplicas < *m {
		errs = append(errs, field.Invalid(p.Child("maxReplicas"), spec.MaxReplicas, "must be greater than or equal to `minReplicas`"))
	}
	target := p.Child("scaleTargetRef")
	errs = append(errs, pathSegment(spec.ScaleTargetRef.Kind, target.Child("kind"))...)
	errs = append(errs, pathSegment(spec.ScaleTargetRef.Name, target.Child("name"))...)
	for i := range spec.Metrics {
		errs = append(errs, metric(&spec.Metrics[i], p.Child("metrics").Index(i))...)
	}
	if b := spec.Behavior; b != nil {
		errs = append(errs, scalingRules(b.ScaleUp, p.Child("behavior", "scaleUp"))...)
		errs = append(errs, scalingRules(b.ScaleDown, p.Child("behavior", "scaleDown"))...)
	}
	return errs
}

func pathSegment(value string, p *field.Path) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(p, "")}
	}
	return invalid(p, value, path.IsValidPathSegmentName(value))
}

func metric(m *autoscalingv2.MetricSpec, p *field.Path) field.ErrorList {
	if m.Type == "" {
		return field.ErrorList{field.Required(p.Child("type"), "must specify a metric source type")}
	}
	errs := oneOf(m.Type, p.Child("type"), autoscalingv2.ContainerResourceMetricSourceType, autoscalingv2.ExternalMetricSourceType,
		autoscalingv2.ObjectMetricSourceType, autoscalingv2.PodsMetricSourceType, autoscalingv2.ResourceMetricSourceType)
	kind, found := onlySource(m, p, "must specify information for the given metric source", "must populate the given metric source only")
	errs = append(errs, found...)
	if kind != "" && kind != strings.ToLower(string(m.Type[:1]))+string(m.Type[1:]) && len(errs) == 0 {
		errs = append(errs, field.Required(p.Child(strings.ToLower(string(m.Type[:1]))+string(m.Type[1:])), "must populate information for the given metric source"))
	}
	return errs
}

// The longest times in scaling rules, in seconds.
const (
	maxStabilization = 3600
	maxScalingPeriod = 1800
)

func scalingRules(r *autoscalingv2.HPAScalingRules, p *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if s := r.StabilizationWindowSeconds; s != nil {
		errs = append(errs, nonNegative(*s, p.Child("stabilizationWindowSeconds"))...)
		if *s > maxStabilization {
			errs = append(errs, field.Invalid(p.Child("stabilizationWindowSeconds"), *s, fmt.Sprintf("must be less than or equal to %v", maxStabilization)))
		}
	}
	if r.SelectPolicy != nil {
		errs = append(errs, oneOf(*r.SelectPolicy, p.Child("selectPolicy"), autoscalingv2.DisabledPolicySelect, autoscalingv2.MaxChangePolicySelect, autoscalingv2.MinChangePolicySelect)...)
	}
	if len(r.Policies) == 0 {
		return append(errs, field.Required(p.Child("policies"), "must specify at least one Policy"))
	}
	for i, policy := range r.Policies {
		at := p.Child("policies").Index(i)
		errs = append(errs, oneOf(policy.Type, at.Child("type"), autoscalingv2.PercentScalingPolicy, autoscalingv2.PodsScalingPolicy)...)
		if policy.Value <= 0 {
			errs = append(errs, field.Invalid(at.Child("value"), policy.Value, "must be greater than zero"))
		}
		if policy.PeriodSeconds <= 0 {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, "must be greater than zero"))
		}
		if policy.PeriodSeconds > maxScalingPeriod {
			errs = append(errs, field.Invalid(at.Child("periodSeconds"), policy.PeriodSeconds, fmt.Sprintf("must be less than or equal to %v", maxScalingPeriod)))
		}
	}
	return errs
}

// Priorities of users end below those of the system.
const (
	maxUserPriority = 1000000000
	systemPrefix    = "system-"
)

// systemPriorities are the classes that the system brings along.
var systemPriorities = map[string]int32{"system-node-critical": 2*maxUserPriority + 1000, "system-cluster-critical": 2 * maxUserPriority}

// PriorityClass checks a priority class.
func PriorityClass(c *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if strings.HasPrefix(c.Name, systemPrefix) {
		value, known := systemPriorities[c.Name]
		switch {
		case !known:
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf("priority class names with '%v' prefix are reserved for system use only. error: %v", systemPrefix, c.Name+" is not a known system priority class")))
		case value != c.Value:
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"), fmt.Sprintf("priority class names with '%v' prefix are reserved for system use only. error: %v", systemPrefix, fmt.Sprintf("value of %v PriorityClass must be %v", c.Name, value))))
		}
	} else if c.Value > maxUserPriority {
		errs = append(errs, field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %v", maxUserPriority)))
	}
	if policy := c.PreemptionPolicy; policy != nil {
		errs = append(errs, requiredOneOf(*policy, field.NewPath("preemptionPolicy"), corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return errs
}

// PriorityClassUpdate checks what changed in a priority class: not what it means for pods.
func PriorityClassUpdate(c, old *schedulingv1.PriorityClass) field.ErrorList {
	var errs field.ErrorList
	if c.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs, unchanged(c.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
}

// ResourceQuota checks a resource quota.
func ResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	var errs field.ErrorList
	for _, name := range resourceNames(q.Spec.Hard) {
		at := field.NewPath("spec", "hard").Key(string(name))
		errs = append(errs, resourceName(name, at)...)
		errs = append(errs, quantity(name, q.Spec.Hard[name], at)...)
	}
	return errs
}

// ResourceQuotaUpdate checks what changed in a resource quota: not what it is about.
func ResourceQuotaUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	return append(ResourceQuota(q), unchanged(q.Spec.Scopes, old.Spec.Scopes, field.NewPath("spec", "scopes"))...)
}

// LimitRange checks a limit range: minimum, default request, default and maximum must not cross.
func LimitRange(l *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.LimitType]bool{}
	for i := range l.Spec.Limits {
		item, at := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		if seen[item.Type] {
			errs = append(errs, field.Duplicate(at.Child("type"), item.Type))
		}
		seen[item.Type] = true
		ordered := func(low, high corev1.ResourceList, path, text string) {
			for _, name := range resourceNames(low) {
				a := low[name]
				if b, ok := high[name]; ok && a.Cmp(b) > 0 {
					errs = append(errs, crossing(a, b, at.Child(path).Key(string(name)), text))
				}
			}
		}
		ordered(item.Min, item.Max, "min", "min value %s is greater than max value %s")
		ordered(item.Min, item.DefaultRequest, "defaultRequest", "min value %s is greater than default request value %s")
		ordered(item.DefaultRequest, item.Max, "defaultRequest", "default request value %s is greater than max value %s")
		ordered(item.DefaultRequest, item.Default, "defaultRequest", "default request value %s is greater than default limit value %s")
		ordered(item.Min, item.Default, "default", "min value %s is greater than default value %s")
		ordered(item.Default, item.Max, "default", "default value %s is greater than max value %s")
	}
	return errs
}

func crossing(a, b resource.Quantity, p *field.Path, text string) *field.Error {
	return field.Invalid(p, a.String(), fmt.Sprintf(text, a.String(), b.String()))
}
