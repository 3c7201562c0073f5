package registry

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// newPod is what becomes of a pod when it is created: it waits, in the class of service that its resources ask for.
func newPod(pod *corev1.Pod) {
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qosClass(pod)}
	if len(pod.Spec.SchedulingGates) > 0 {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated,
			Message: "Scheduling is blocked due to non-empty scheduling gates",
		})
	}
	mergeMatchLabelKeys(pod)
}

// qosClass is Guaranteed when all containers are limited in CPU and memory to what they request, BestEffort when none asks
// for anything, and Burstable otherwise. Resources of the pod as a whole stand for those of its containers.
func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	requests, limits := corev1.ResourceList{}, corev1.ResourceList{}
	guaranteed := true
	count := func(r *corev1.ResourceRequirements) {
		add(requests, r.Requests)
		if add(limits, r.Limits) < 2 {
			guaranteed = false
		}
	}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		count(pod.Spec.Resources)
	} else {
		for i := range pod.Spec.Containers {
			count(&pod.Spec.Containers[i].Resources)
		}
		for i := range pod.Spec.InitContainers {
			count(&pod.Spec.InitContainers[i].Resources)
		}
	}
	if len(requests) == 0 && len(limits) == 0 {
		return corev1.PodQOSBestEffort
	}
	for name, request := range requests {
		limit, ok := limits[name]
		guaranteed = guaranteed && ok && limit.Cmp(request) == 0
	}
	if guaranteed && len(requests) == len(limits) {
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// add adds CPU and memory and returns how many of the two there were.
func add(sum, list corev1.ResourceList) (n int) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		q, ok := list[name]
		if !ok || q.Sign() <= 0 {
			continue
		}
		n++
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
	return n
}

// mergeMatchLabelKeys writes matchLabelKeys into the selectors that they complete, with the values that the pod has now.
func mergeMatchLabelKeys(pod *corev1.Pod) {
	for i := range pod.Spec.TopologySpreadConstraints {
		c := &pod.Spec.TopologySpreadConstraints[i]
		mergeKeys(pod.Labels, c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
	}
	a := pod.Spec.Affinity
	if a == nil {
		return
	}
	term := func(t *corev1.PodAffinityTerm) {
		mergeKeys(pod.Labels, t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
		mergeKeys(pod.Labels, t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
	}
	terms := func(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		for i := range hard {
			term(&hard[i])
		}
		for i := range soft {
			term(&soft[i].PodAffinityTerm)
		}
	}
	if p := a.PodAffinity; p != nil {
		terms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		terms(p.RequiredDuringSchedulingIgnoredDuringExecution, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
}

func mergeKeys(labels map[string]string, selector *metav1.LabelSelector, keys []string, op metav1.LabelSelectorOperator) {
	if selector == nil {
		return
	}
	for _, key := range keys {
		if value, ok := labels[key]; ok {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: op, Values: []string{value}})
		}
	}
}
