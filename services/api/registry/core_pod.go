package registry

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func podKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.PodList]("", "v1", "pods", rules[*corev1.Pod]{
			Default:        defaults.Pod,
			Validate:       validation.Pod,
			ValidateUpdate: validation.PodUpdate,
			ValidateStatus: validation.PodStatus,
			ValidatePart:   validation.PodPart,
			PrepareCreate:  func(_ context.Context, pod *corev1.Pod) { newPod(pod) },
			PrepareStatus: func(_ context.Context, pod, old *corev1.Pod) {
				pod.OwnerReferences = old.OwnerReferences
				if pod.Status.QOSClass == "" { // decided when the pod was made
					pod.Status.QOSClass = old.Status.QOSClass
				}
			},
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Graceful:                 podGracePeriod,
			IndexField:               "spec.nodeName",
			IndexValue:               func(pod *corev1.Pod) string { return pod.Spec.NodeName },
			Fields:                   podFields,
			FieldNames: []string{
				"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
				"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
			},
			Columns: tables.PodColumns,
			Row:     row.Pod,
		}),
		entry[*corev1.PodTemplateList]("", "v1", "podtemplates", rules[*corev1.PodTemplate]{
			Default:                  defaults.PodTemplate,
			Validate:                 validation.PodTemplate,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.PodTemplateColumns,
			Row:                      row.PodTemplate,
		}),
	}
}

// podGracePeriod is how many seconds a pod may stay after its deletion: none when no node runs it.
func podGracePeriod(pod *corev1.Pod, options *metav1.DeleteOptions) int64 {
	if pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded {
		return 0
	}
	var seconds int64
	switch {
	case options != nil && options.GracePeriodSeconds != nil:
		seconds = *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *pod.Spec.TerminationGracePeriodSeconds
	}
	if seconds < 0 {
		return 1
	}
	return seconds
}

// podFields leaves status.podIPs out: it may be named in a selector but has no value of its own.
func podFields(pod *corev1.Pod) fields.Set {
	ip := pod.Status.PodIP
	if len(pod.Status.PodIPs) > 0 {
		ip = pod.Status.PodIPs[0].IP
	}
	return fields.Set{
		"spec.nodeName":            pod.Spec.NodeName,
		"spec.restartPolicy":       string(pod.Spec.RestartPolicy),
		"spec.schedulerName":       pod.Spec.SchedulerName,
		"spec.serviceAccountName":  pod.Spec.ServiceAccountName,
		"spec.hostNetwork":         strconv.FormatBool(pod.Spec.HostNetwork),
		"status.phase":             string(pod.Status.Phase),
		"status.podIP":             ip,
		"status.nominatedNodeName": pod.Status.NominatedNodeName,
	}
}
