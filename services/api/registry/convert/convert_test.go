package convert

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What v1 has no field for comes back from it unharmed.
func TestAutoscalerThroughV1(t *testing.T) {
	percent, other, queue := int32(80), int32(60), resource.MustParse("5")
	in := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Name: "h", Annotations: map[string]string{"a": "b"}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}}},
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceMemory,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &other}}},
				{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &queue}}},
			},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &other}},
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{
			Conditions: []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue}},
		},
	}
	view, err := AutoscalerFromV2(in)
	if err != nil {
		t.Fatal(err)
	}
	if got := view.Spec.TargetCPUUtilizationPercentage; got == nil || *got != percent {
		t.Errorf("the view's CPU target is %v", got)
	}
	out, err := AutoscalerToV2(view)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(in, out); diff != "" {
		t.Errorf("- before, + after:\n%s", diff)
	}
}

func TestBrokenAutoscalerAnnotation(t *testing.T) {
	in := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{metricsAnnotation: "{"}}}
	if _, err := AutoscalerToV2(in); err == nil {
		t.Error("no error")
	}
}

func TestEventRoundTrip(t *testing.T) {
	in := &corev1.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Name: "e"},
		InvolvedObject: corev1.ObjectReference{Name: "web"}, Reason: "r", Message: "m", Source: corev1.EventSource{Component: "c"},
		Count: 3, Type: "Normal", Series: &corev1.EventSeries{Count: 2}, Action: "a", Related: &corev1.ObjectReference{Name: "x"},
		ReportingController: "k", ReportingInstance: "i",
	}
	if diff := cmp.Diff(in, EventToCore(EventFromCore(in))); diff != "" {
		t.Error(diff)
	}
}
