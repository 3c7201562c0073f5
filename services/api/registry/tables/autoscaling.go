package tables

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AutoscalerColumns are the columns of horizontal pod autoscalers.
var AutoscalerColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Reference", "string", "Object whose pods are scaled."),
	column("Targets", "string", "Current value of each metric and the value that it should have."),
	column("MinPods", "string", "How many pods there are at least."),
	column("MaxPods", "string", "How many pods there are at most."),
	column("Replicas", "string", "How many pods there are."),
	ageColumn,
}

// Autoscaler is the row of a horizontal pod autoscaler.
func (r Rows) Autoscaler(a *autoscalingv2.HorizontalPodAutoscaler) []any {
	min := unset
	if a.Spec.MinReplicas != nil {
		min = itoa(*a.Spec.MinReplicas)
	}
	return []any{
		a.Name, a.Spec.ScaleTargetRef.Kind + "/" + a.Spec.ScaleTargetRef.Name, targets(a), min,
		int64(a.Spec.MaxReplicas), int64(a.Status.CurrentReplicas), r.age(a),
	}
}

func targets(a *autoscalingv2.HorizontalPodAutoscaler) string {
	if len(a.Spec.Metrics) == 0 {
		return none
	}
	cells := make([]string, 0, len(a.Spec.Metrics))
	for i := range a.Spec.Metrics {
		var now autoscalingv2.MetricStatus
		if i < len(a.Status.CurrentMetrics) {
			now = a.Status.CurrentMetrics[i]
		}
		cells = append(cells, targetCell(&a.Spec.Metrics[i], &now))
	}
	return firstFew(cells, 2, ", ")
}

// targetCell is the current value of a metric and its target: "cpu: 12%/80%", "3/5 (avg)".
func targetCell(m *autoscalingv2.MetricSpec, now *autoscalingv2.MetricStatus) string {
	var current autoscalingv2.MetricValueStatus
	switch {
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		if now.External != nil {
			current = now.External.Current
		}
		return valueCell(current, m.External.Target, " (avg)")
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		if now.Object != nil {
			current = now.Object.Current
		}
		return valueCell(current, m.Object.Target, " (avg)")
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		if now.Pods != nil {
			current = now.Pods.Current
		}
		return valueCell(current, m.Pods.Target, "")
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		if now.Resource != nil {
			current = now.Resource.Current
		}
		return m.Resource.Name.String() + ": " + utilizationCell(current, m.Resource.Target)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		if now.ContainerResource != nil {
			current = now.ContainerResource.Current
		}
		return m.ContainerResource.Name.String() + ": " + utilizationCell(current, m.ContainerResource.Target)
	default:
		return "<unknown type>"
	}
}

// valueCell shows averages, marked as such, where the target is one, and totals otherwise.
func valueCell(current autoscalingv2.MetricValueStatus, target autoscalingv2.MetricTarget, mark string) string {
	is, should := current.Value, target.Value
	if target.AverageValue != nil {
		is, should = current.AverageValue, target.AverageValue
	} else {
		mark = ""
	}
	text, goal := unknown, unknown
	if is != nil {
		text = is.String()
	}
	if should != nil {
		goal = should.String()
	}
	return text + "/" + goal + mark
}

func utilizationCell(current autoscalingv2.MetricValueStatus, target autoscalingv2.MetricTarget) string {
	if target.AverageValue != nil {
		return valueCell(current, target, "")
	}
	text, goal := unknown, "<auto>"
	if current.AverageUtilization != nil {
		text = fmt.Sprintf("%d%%", *current.AverageUtilization)
	}
	if target.AverageUtilization != nil {
		goal = fmt.Sprintf("%d%%", *target.AverageUtilization)
	}
	return text + "/" + goal
}

// DisruptionBudgetColumns are the columns of pod disruption budgets.
var DisruptionBudgetColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Min Available", "string", "How many pods must stay available."),
	column("Max Unavailable", "string", "How many pods may be unavailable."),
	column("Allowed Disruptions", "integer", "How many pods may be evicted now."),
	ageColumn,
}

// DisruptionBudget is the row of a pod disruption budget.
func (r Rows) DisruptionBudget(b *policyv1.PodDisruptionBudget) []any {
	min, max := "N/A", "N/A"
	if b.Spec.MinAvailable != nil {
		min = b.Spec.MinAvailable.String()
	}
	if b.Spec.MaxUnavailable != nil {
		max = b.Spec.MaxUnavailable.String()
	}
	return []any{b.Name, min, max, int64(b.Status.DisruptionsAllowed), r.age(b)}
}
