package endpoint

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

// bind gives a pod its node: once, for good.
func (e *Endpoint) bind(ctx context.Context, namespace, name string, b *corev1.Binding, options metav1.CreateOptions) error {
	if b.Name != "" && b.Name != name {
		return apierrors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if errs := validateBinding(b); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Binding"}, name, errs)
	}
	dryRun := len(options.DryRun) > 0
	a := &admission.Attributes{Kind: e.kind, Operation: admission.Create, Namespace: namespace, Name: name, Subresource: "binding", Object: b, DryRun: dryRun}
	if err := e.set.admit.Mutate(ctx, a); err != nil {
		return err
	}
	if err := e.set.admit.Validate(ctx, a); err != nil {
		return err
	}
	key := e.key(namespace, name)
	_, err := e.set.store.Update(ctx, e.codec, key, e.cache.Peek(key), func(cur *object.Entry) (storage.Change, error) {
		if cur == nil {
			return storage.Change{}, e.notFound(name)
		}
		pod, err := e.bound(cur.Object.(*corev1.Pod), b)
		return storage.Change{Object: pod, DryRun: dryRun}, err
	})
	return e.fail(name, err)
}

func validateBinding(b *corev1.Binding) field.ErrorList {
	var errs field.ErrorList
	target := field.NewPath("target")
	if b.Target.Kind != "" && b.Target.Kind != "Node" {
		errs = append(errs, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		errs = append(errs, field.Required(target.Child("name"), ""))
	}
	return errs
}

// bound is the pod on the binding's node.
func (e *Endpoint) bound(old *corev1.Pod, b *corev1.Binding) (*corev1.Pod, error) {
	refuse := func(format string, args ...any) (*corev1.Pod, error) {
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: "pods/binding"}, old.Name, fmt.Errorf(format, args...))
	}
	switch {
	case b.UID != "" && b.UID != old.UID:
		return nil, e.otherUID(old.Name, b.UID, old.UID)
	case b.ResourceVersion != "" && b.ResourceVersion != old.ResourceVersion:
		return nil, e.conflict(old.Name, modifiedMeanwhile)
	case old.DeletionTimestamp != nil:
		return refuse("pod %s is being deleted, cannot be assigned to a host", old.Name)
	case old.Spec.NodeName != "":
		return refuse("pod %v is already assigned to node %q", old.Name, old.Spec.NodeName)
	case len(old.Spec.SchedulingGates) > 0:
		return refuse("pod %v has non-empty .spec.schedulingGates", old.Name)
	}
	// All that is changed is replaced, not written into: what hangs below is shared with the old pod.
	pod := shallow(old).(*corev1.Pod)
	pod.Spec.NodeName = b.Target.Name
	if len(b.Annotations) > 0 {
		pod.Annotations = maps.Clone(pod.Annotations)
		if pod.Annotations == nil {
			pod.Annotations = map[string]string{}
		}
		maps.Copy(pod.Annotations, b.Annotations)
	}
	pod.Status.Conditions = withCondition(old.Status.Conditions, corev1.PodCondition{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, ObservedGeneration: old.Generation,
		LastTransitionTime: metav1.NewTime(e.set.clock.Now()).Rfc3339Copy(),
	})
	return pod, nil
}

// withCondition is a copy of the conditions with c in the place of the one of its type. The transition time stays where the status
// does.
func withCondition(conditions []corev1.PodCondition, c corev1.PodCondition) []corev1.PodCondition {
	out := slices.Clone(conditions)
	for i := range out {
		if out[i].Type == c.Type {
			if out[i].Status == c.Status {
				c.LastTransitionTime = out[i].LastTransitionTime
			}
			out[i] = c
			return out
		}
	}
	return append(out, c)
}
