package defaults

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
)

// AutoscalerV1 completes the v1 view of an autoscaler.
func AutoscalerV1(a *autoscalingv1.HorizontalPodAutoscaler) {
	setPointer(&a.Spec.MinReplicas, 1)
}

// Autoscaler completes an autoscaler: without a metric it keeps CPU use at 80 percent of the requests.
func Autoscaler(a *autoscalingv2.HorizontalPodAutoscaler) {
	setPointer(&a.Spec.MinReplicas, 1)
	if len(a.Spec.Metrics) == 0 {
		percent := int32(80)
		a.Spec.Metrics = []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
			},
		}}
	}
	if b := a.Spec.Behavior; b != nil {
		b.ScaleUp = scalingRules(b.ScaleUp, autoscalingv2.HPAScalingRules{
			StabilizationWindowSeconds: new(int32),
			Policies: []autoscalingv2.HPAScalingPolicy{
				{Type: autoscalingv2.PodsScalingPolicy, Value: 4, PeriodSeconds: 15},
				{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15},
			},
		})
		b.ScaleDown = scalingRules(b.ScaleDown, autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PercentScalingPolicy, Value: 100, PeriodSeconds: 15}},
		})
	}
}

// scalingRules is base with what the rules say in its place.
func scalingRules(rules *autoscalingv2.HPAScalingRules, base autoscalingv2.HPAScalingRules) *autoscalingv2.HPAScalingRules {
	setPointer(&base.SelectPolicy, autoscalingv2.MaxChangePolicySelect)
	if rules == nil {
		return &base
	}
	if rules.SelectPolicy != nil {
		base.SelectPolicy = rules.SelectPolicy
	}
	if rules.StabilizationWindowSeconds != nil {
		base.StabilizationWindowSeconds = rules.StabilizationWindowSeconds
	}
	if rules.Policies != nil {
		base.Policies = rules.Policies
	}
	base.Tolerance = rules.Tolerance
	return &base
}
