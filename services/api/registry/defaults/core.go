package defaults

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
)

// ReplicationController completes a controller: it may leave its labels and selector to its template.
func ReplicationController(rc *corev1.ReplicationController) {
	if rc.Spec.Template != nil {
		labels := rc.Spec.Template.Labels
		if len(labels) > 0 {
			if len(rc.Spec.Selector) == 0 {
				rc.Spec.Selector = maps.Clone(labels)
			}
			if len(rc.Labels) == 0 {
				rc.Labels = maps.Clone(labels)
			}
		}
		podSpec(&rc.Spec.Template.Spec)
	}
	setPointer(&rc.Spec.Replicas, 1)
}

// Namespace completes a namespace: a label with its name lets selectors pick it.
func Namespace(ns *corev1.Namespace) {
	set(&ns.Status.Phase, corev1.NamespaceActive)
	if ns.Name == "" || ns.Labels[corev1.LabelMetadataName] == ns.Name {
		return
	}
	if ns.Labels == nil {
		ns.Labels = make(map[string]string, 1)
	}
	ns.Labels[corev1.LabelMetadataName] = ns.Name
}

// Node completes a node: podCIDR is the first of podCIDRs, and all of its capacity is for pods unless it says otherwise.
func Node(node *corev1.Node) {
	switch spec := &node.Spec; {
	case len(spec.PodCIDRs) == 0 && spec.PodCIDR != "":
		spec.PodCIDRs = []string{spec.PodCIDR}
	case len(spec.PodCIDRs) > 0 && spec.PodCIDR == "":
		spec.PodCIDR = spec.PodCIDRs[0]
	}
	if node.Status.Allocatable == nil && node.Status.Capacity != nil {
		node.Status.Allocatable = node.Status.Capacity.DeepCopy()
	}
	roundUp(node.Status.Capacity)
	roundUp(node.Status.Allocatable)
}

// Secret completes a secret: stringData is a convenience for writers and is never stored.
func Secret(s *corev1.Secret) {
	set(&s.Type, corev1.SecretTypeOpaque)
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for key, value := range s.StringData {
		s.Data[key] = []byte(value)
	}
	s.StringData = nil
}

// Endpoints completes the ports of endpoints.
func Endpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			set(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// LimitRange completes a range: what containers get by default follows from what they may have at most and must have at least.
func LimitRange(l *corev1.LimitRange) {
	for i := range l.Spec.Limits {
		item := &l.Spec.Limits[i]
		for _, list := range []corev1.ResourceList{item.Max, item.Min, item.Default, item.DefaultRequest, item.MaxLimitRequestRatio} {
			roundUp(list)
		}
		if item.Type != corev1.LimitTypeContainer {
			continue
		}
		item.Default = withMissing(item.Default, item.Max)
		item.DefaultRequest = withMissing(item.DefaultRequest, item.Default)
		item.DefaultRequest = withMissing(item.DefaultRequest, item.Min)
	}
}

// ResourceQuota completes a quota.
func ResourceQuota(q *corev1.ResourceQuota) {
	roundUp(q.Spec.Hard)
	roundUp(q.Status.Hard)
	roundUp(q.Status.Used)
}

// withMissing is the list with what only the fallback has.
func withMissing(list, fallback corev1.ResourceList) corev1.ResourceList {
	if list == nil {
		list = make(corev1.ResourceList, len(fallback))
	}
	for name, q := range fallback {
		if _, ok := list[name]; !ok {
			list[name] = q.DeepCopy()
		}
	}
	return list
}
