package convert

import (
	"encoding/json"
	"fmt"
	"maps"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What autoscaling/v1 has no field for travels in these annotations, as JSON. They are seen in v1 only.
const (
	metricsAnnotation        = "autoscaling.alpha.kubernetes.io/metrics"
	currentMetricsAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics"
	conditionsAnnotation     = "autoscaling.alpha.kubernetes.io/conditions"
	behaviorAnnotation       = "autoscaling.alpha.kubernetes.io/behavior"
)

// AutoscalerToV2 is the v2 form of a v1 autoscaler. Its error says which annotation is not what v2 can read.
func AutoscalerToV2(in *autoscalingv1.HorizontalPodAutoscaler) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	out := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: *in.ObjectMeta.DeepCopy(),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	if percent := in.Spec.TargetCPUUtilizationPercentage; percent != nil {
		out.Spec.Metrics = append(out.Spec.Metrics, cpuMetric(percent))
	}
	if percent := in.Status.CurrentCPUUtilizationPercentage; percent != nil {
		out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, autoscalingv2.MetricStatus{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricStatus{
				Name:    corev1.ResourceCPU,
				Current: autoscalingv2.MetricValueStatus{AverageUtilization: percent},
			},
		})
	}

	var metrics []autoscalingv1.MetricSpec
	if err := takeAnnotation(out, metricsAnnotation, &metrics); err != nil {
		return nil, err
	}
	for _, m := range metrics {
		out.Spec.Metrics = append(out.Spec.Metrics, metricToV2(m))
	}
	var statuses []autoscalingv1.MetricStatus
	if err := takeAnnotation(out, currentMetricsAnnotation, &statuses); err != nil {
		return nil, err
	}
	for _, s := range statuses {
		out.Status.CurrentMetrics = append(out.Status.CurrentMetrics, metricStatusToV2(s))
	}
	if err := takeAnnotation(out, conditionsAnnotation, &out.Status.Conditions); err != nil {
		return nil, err
	}
	if err := takeAnnotation(out, behaviorAnnotation, &out.Spec.Behavior); err != nil {
		return nil, err
	}
	return out, nil
}

// AutoscalerFromV2 is the v1 form of a v2 autoscaler.
func AutoscalerFromV2(in *autoscalingv2.HorizontalPodAutoscaler) (*autoscalingv1.HorizontalPodAutoscaler, error) {
	out := &autoscalingv1.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: in.ObjectMeta,
		Spec: autoscalingv1.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv1.CrossVersionObjectReference(in.Spec.ScaleTargetRef),
			MinReplicas:    in.Spec.MinReplicas,
			MaxReplicas:    in.Spec.MaxReplicas,
		},
		Status: autoscalingv1.HorizontalPodAutoscalerStatus{
			ObservedGeneration: in.Status.ObservedGeneration,
			LastScaleTime:      in.Status.LastScaleTime,
			CurrentReplicas:    in.Status.CurrentReplicas,
			DesiredReplicas:    in.Status.DesiredReplicas,
		},
	}
	out.Annotations = maps.Clone(in.Annotations)

	var metrics []autoscalingv1.MetricSpec
	for _, m := range in.Spec.Metrics {
		if out.Spec.TargetCPUUtilizationPercentage == nil && isCPUUtilization(m) {
			out.Spec.TargetCPUUtilizationPercentage = m.Resource.Target.AverageUtilization
			continue
		}
		metrics = append(metrics, metricFromV2(m))
	}
	var statuses []autoscalingv1.MetricStatus
	for _, s := range in.Status.CurrentMetrics {
		if s.Type == autoscalingv2.ResourceMetricSourceType && s.Resource != nil && s.Resource.Name == corev1.ResourceCPU &&
			s.Resource.Current.AverageUtilization != nil {
			out.Status.CurrentCPUUtilizationPercentage = s.Resource.Current.AverageUtilization
		}
		statuses = append(statuses, metricStatusFromV2(s))
	}

	if len(metrics) > 0 {
		if err := putAnnotation(out, metricsAnnotation, metrics); err != nil {
			return nil, err
		}
	}
	if len(statuses) > 0 {
		if err := putAnnotation(out, currentMetricsAnnotation, statuses); err != nil {
			return nil, err
		}
	}
	if len(in.Status.Conditions) > 0 {
		if err := putAnnotation(out, conditionsAnnotation, in.Status.Conditions); err != nil {
			return nil, err
		}
	}
	if in.Spec.Behavior != nil {
		if err := putAnnotation(out, behaviorAnnotation, in.Spec.Behavior); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// takeAnnotation decodes an annotation into the value and removes it; without the annotation it does nothing.
func takeAnnotation(obj metav1.Object, name string, into any) error {
	annotations := obj.GetAnnotations()
	text, ok := annotations[name]
	if !ok {
		return nil
	}
	delete(annotations, name)
	if len(annotations) == 0 {
		obj.SetAnnotations(nil)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %w", name, err)
	}
	return nil
}

func putAnnotation(obj metav1.Object, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("metadata.annotations[%s]: %w", name, err)
	}
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[name] = string(text)
	obj.SetAnnotations(annotations)
	return nil
}

func cpuMetric(percent *int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{
		Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: percent},
		},
	}
}

func isCPUUtilization(m autoscalingv2.MetricSpec) bool {
	return m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil && m.Resource.Name == corev1.ResourceCPU &&
		m.Resource.Target.AverageUtilization != nil
}
