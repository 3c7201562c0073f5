package validation

import (
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/diff"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// updatable names what may change in a pod, as the error that refuses anything else lists it.
var updatable = []string{
	"`spec.containers[*].image`",
	"`spec.initContainers[*].image`",
	"`spec.activeDeadlineSeconds`",
	"`spec.tolerations` (only additions to existing tolerations)",
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
}

// PodUpdate checks what changed in a pod.
func PodUpdate(pod, old *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec")
	// Ephemeral containers have a subresource of their own.
	if len(pod.Spec.Containers) != len(old.Spec.Containers) {
		return field.ErrorList{field.Forbidden(p.Child("containers"), "pod updates may not add or remove containers")}
	}
	if len(pod.Spec.InitContainers) != len(old.Spec.InitContainers) {
		return field.ErrorList{field.Forbidden(p.Child("initContainers"), "pod updates may not add or remove containers")}
	}
	var errs field.ErrorList
	errs = append(errs, updatedImages(pod.Spec.Containers, p.Child("containers"))...)
	errs = append(errs, updatedImages(pod.Spec.InitContainers, p.Child("initContainers"))...)
	errs = append(errs, updatedDeadline(pod.Spec.ActiveDeadlineSeconds, old.Spec.ActiveDeadlineSeconds, p.Child("activeDeadlineSeconds"))...)
	errs = append(errs, updatedTolerations(pod.Spec.Tolerations, old.Spec.Tolerations, p.Child("tolerations"))...)
	errs = append(errs, updatedGates(pod, old, p)...)

	// Undo what may change; what is left must be the same.
	spec := pod.Spec.DeepCopy()
	for i := range spec.Containers {
		spec.Containers[i].Image = old.Spec.Containers[i].Image
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].Image = old.Spec.InitContainers[i].Image
	}
	spec.ActiveDeadlineSeconds = old.Spec.ActiveDeadlineSeconds
	spec.Tolerations = old.Spec.Tolerations
	if g := old.Spec.TerminationGracePeriodSeconds; g != nil && *g < 0 && valueOr(spec.TerminationGracePeriodSeconds, 0) == 1 {
		spec.TerminationGracePeriodSeconds = g
	}
	if len(old.Spec.SchedulingGates) > 0 {
		spec.SchedulingGates = old.Spec.SchedulingGates
		spec.NodeSelector = old.Spec.NodeSelector
		spec.Affinity = withNodeAffinity(spec.Affinity, old.Spec.Affinity)
	}
	if !equality.Semantic.DeepEqual(*spec, old.Spec) {
		errs = append(errs, field.Forbidden(p, fmt.Sprintf("pod updates may not change fields other than %s\n%v",
			strings.Join(updatable, ","), diff.Diff(old.Spec, *spec))))
	}
	return errs
}

func updatedImages(list []corev1.Container, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range list {
		at := p.Index(i).Child("image")
		if list[i].Image == "" {
			errs = append(errs, field.Required(at, ""))
			continue
		}
		errs = append(errs, trimmedImage(list[i].Image, at)...)
	}
	return errs
}

func updatedDeadline(now, old *int64, p *field.Path) field.ErrorList {
	switch {
	case now == nil && old == nil:
		return nil
	case now == nil:
		return field.ErrorList{field.Invalid(p, now, "must not update from a positive integer to nil value")}
	case *now < 0 || *now > math.MaxInt32:
		return field.ErrorList{field.Invalid(p, *now, validation.InclusiveRangeError(0, math.MaxInt32))}
	case old != nil && *old < *now:
		return field.ErrorList{field.Invalid(p, *now, "must be less than or equal to previous value")}
	default:
		return nil
	}
}

// updatedTolerations: every toleration stays, save for its seconds.
func updatedTolerations(now, old []corev1.Toleration, p *field.Path) field.ErrorList {
	if equality.Semantic.DeepEqual(now, old) {
		return nil
	}
	for _, o := range old {
		kept := false
		for _, n := range now {
			n.TolerationSeconds = o.TolerationSeconds
			kept = kept || equality.Semantic.DeepEqual(n, o)
		}
		if !kept {
			return field.ErrorList{field.Forbidden(p, "existing toleration can not be modified except its tolerationSeconds")}
		}
	}
	return tolerations(now, p)
}

// updatedGates: gates can only go; while there are any, the choice of nodes may be narrowed.
func updatedGates(pod, old *corev1.Pod, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	had := sets.New[string]()
	for _, gate := range old.Spec.SchedulingGates {
		had.Insert(gate.Name)
	}
	for i, gate := range pod.Spec.SchedulingGates {
		if !had.Has(gate.Name) {
			errs = append(errs, field.Forbidden(p.Child("schedulingGates").Index(i), fmt.Sprintf("only deletion is allowed, but found new scheduling gate '%s'", gate.Name)))
		}
	}
	if len(old.Spec.SchedulingGates) == 0 {
		return errs
	}
	for key, value := range old.Spec.NodeSelector {
		if now, ok := pod.Spec.NodeSelector[key]; !ok || now != value {
			errs = append(errs, field.Invalid(p.Child("nodeSelector"), pod.Spec.NodeSelector, "only additions are allowed"))
			break
		}
	}
	return errs
}

// withNodeAffinity is the affinity with the node affinity of another.
func withNodeAffinity(a, from *corev1.Affinity) *corev1.Affinity {
	if a == nil && from == nil {
		return nil
	}
	out := &corev1.Affinity{}
	if a != nil {
		*out = *a
	}
	out.NodeAffinity = nil
	if from != nil {
		out.NodeAffinity = from.NodeAffinity
	}
	if *out == (corev1.Affinity{}) && from == nil {
		return nil
	}
	return out
}

// PodStatus checks a pod's new status.
func PodStatus(pod, old *corev1.Pod) field.ErrorList {
	p := field.NewPath("status")
	var errs field.ErrorList
	if name := pod.Status.NominatedNodeName; name != "" {
		errs = append(errs, invalid(p.Child("nominatedNodeName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	for i, c := range pod.Status.Conditions {
		if strings.TrimSpace(string(c.Type)) == "" {
			errs = append(errs, field.Required(p.Child("conditions").Index(i).Child("type"), ""))
		}
	}
	errs = append(errs, podIPs(pod, p)...)
	if now, was := pod.Status.QOSClass, old.Status.QOSClass; was != "" && now != "" {
		errs = append(errs, unchanged(now, was, p.Child("qosClass"))...)
	}
	errs = append(errs, stateTransitions(pod.Status.ContainerStatuses, old.Status.ContainerStatuses, &pod.Spec, p.Child("containerStatuses"))...)
	return errs
}

func podIPs(pod *corev1.Pod, p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, ip := range pod.Status.PodIPs {
		at := p.Child("podIPs").Index(i)
		errs = append(errs, validation.IsValidIP(at, ip.IP)...)
		if seen.Has(ip.IP) {
			errs = append(errs, field.Duplicate(at, ip))
		}
		seen.Insert(ip.IP)
	}
	return errs
}

// stateTransitions: what has ended for good does not start again.
func stateTransitions(now, old []corev1.ContainerStatus, spec *corev1.PodSpec, p *field.Path) field.ErrorList {
	if spec.RestartPolicy == corev1.RestartPolicyAlways {
		return nil
	}
	restarts := sets.New[string]() // containers with a policy of their own
	for i := range spec.Containers {
		if c := &spec.Containers[i]; c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0 {
			restarts.Insert(c.Name)
		}
	}
	var errs field.ErrorList
	for _, o := range old {
		t := o.State.Terminated
		if t == nil || restarts.Has(o.Name) || t.ExitCode != 0 && spec.RestartPolicy == corev1.RestartPolicyOnFailure {
			continue
		}
		for i, n := range now {
			if n.Name == o.Name && n.State.Terminated == nil {
				errs = append(errs, field.Forbidden(p.Index(i).Child("state"), "may not be transitioned to non-terminated state"))
			}
		}
	}
	return errs
}

// PodPart checks what a subresource of a pod wrote.
func PodPart(subresource string, pod, old *corev1.Pod) field.ErrorList {
	switch subresource {
	case "ephemeralcontainers":
		return podEphemeralContainers(pod, old)
	case "resize":
		return podObject(pod)
	default:
		return nil
	}
}

// podEphemeralContainers checks an update of a pod's ephemeral containers, which can only be added.
func podEphemeralContainers(pod, old *corev1.Pod) field.ErrorList {
	p := field.NewPath("spec", "ephemeralContainers")
	volumes, _ := podVolumes(pod.Spec.Volumes, field.NewPath("spec", "volumes"))
	scope := containerScope{volumes: volumes, names: sets.New[string]()}
	for i := range pod.Spec.Containers {
		scope.names.Insert(pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.InitContainers {
		scope.names.Insert(pod.Spec.InitContainers[i].Name)
	}
	errs := scope.ephemeralContainers(pod.Spec.EphemeralContainers, &pod.Spec, p)
	for _, o := range old.Spec.EphemeralContainers {
		found := false
		for _, n := range pod.Spec.EphemeralContainers {
			if n.Name != o.Name {
				continue
			}
			found = true
			if !equality.Semantic.DeepEqual(n, o) {
				errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be changed\n", o.Name)))
			}
		}
		if !found {
			errs = append(errs, field.Forbidden(p, fmt.Sprintf("existing ephemeral containers %q may not be removed\n", o.Name)))
		}
	}
	return errs
}
