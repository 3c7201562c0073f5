package endpoint

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
)

var (
	scaleKind  = autoscalingv1.SchemeGroupVersion.WithKind("Scale")
	scaleCodec = storage.NewCodec(scaleKind, func() object.Object { return &autoscalingv1.Scale{} })
)

// scaleOf is what the scale subresource shows of an object.
func (e *Endpoint) scaleOf(entry *object.Entry) (*object.Entry, error) {
	obj := entry.Object
	want, have, selector := e.kind.Scale.Get(obj)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Name: obj.GetName(), Namespace: obj.GetNamespace(), UID: obj.GetUID(), CreationTimestamp: obj.GetCreationTimestamp()},
		Spec:       autoscalingv1.ScaleSpec{Replicas: want},
		Status:     autoscalingv1.ScaleStatus{Replicas: have, Selector: selector},
	}
	_, encoded, err := scaleCodec.Encode(scale)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return scaleCodec.Entry(entry.Key, entry.Revision, scale, encoded), nil
}

func (e *Endpoint) updateScale(ctx context.Context, namespace, name string, obj object.Object, dryRun bool) (*object.Entry, error) {
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest("wrong object passed to Scale update")
	}
	return e.writeScale(ctx, namespace, name, dryRun, func(*object.Entry) (*autoscalingv1.Scale, error) { return scale, nil })
}

func (e *Endpoint) patchScale(ctx context.Context, namespace, name string, p *patcher, dryRun bool) (*object.Entry, error) {
	return e.writeScale(ctx, namespace, name, dryRun, func(old *object.Entry) (*autoscalingv1.Scale, error) {
		shown, err := e.scaleOf(old)
		if err != nil {
			return nil, err
		}
		scale := &autoscalingv1.Scale{}
		return scale, p.apply(ctx, shown, scale)
	})
}

// writeScale sets the number of replicas that desired asks for.
func (e *Endpoint) writeScale(ctx context.Context, namespace, name string, dryRun bool, desired func(old *object.Entry) (*autoscalingv1.Scale, error)) (*object.Entry, error) {
	entry, _, err := e.write(ctx, change{
		namespace: namespace, name: name, subresource: "scale", dryRun: dryRun, unconditional: true,
		make: func(_ context.Context, old *object.Entry) (object.Object, error) {
			scale, err := desired(old)
			if err != nil {
				return nil, err
			}
			if scale.Name != name {
				return nil, apierrors.NewBadRequest("the name of the object (" + scale.Name + ") does not match the name on the URL (" + name + ")")
			}
			if r := scale.Spec.Replicas; r < 0 {
				errs := field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), r, "must be greater than or equal to 0")}
				return nil, apierrors.NewInvalid(scaleKind.GroupKind(), name, errs)
			}
			obj := deepCopy(old.Object)
			e.kind.Scale.Set(obj, scale.Spec.Replicas)
			obj.SetResourceVersion(scale.ResourceVersion)
			if scale.UID != "" {
				obj.SetUID(types.UID(scale.UID))
			}
			return obj, nil
		},
	})
	if err != nil {
		return nil, err
	}
	return e.scaleOf(entry)
}
