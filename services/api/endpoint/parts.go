package endpoint

import (
	"context"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/orrery-io/orrery/services/api/object"
)

// NewSubresource implements Interface.
func (e *Endpoint) NewSubresource(subresource string) object.Object {
	if subresource != "" && !e.kind.HasSubresource(subresource) {
		return nil
	}
	switch subresource {
	case "", "status", "finalize", "approval", "ephemeralcontainers", "resize":
		return e.kind.New()
	case "scale":
		if e.kind.Scale != nil {
			return &autoscalingv1.Scale{}
		}
	case "binding":
		return &corev1.Binding{}
	case "eviction":
		return &policyv1.Eviction{}
	}
	return nil
}

// GetSubresource implements Interface.
func (e *Endpoint) GetSubresource(ctx context.Context, namespace, name, subresource string, options metav1.GetOptions) (*object.Entry, error) {
	if err := e.hasSubresource(subresource); err != nil {
		return nil, err
	}
	entry, err := e.Get(ctx, namespace, name, options)
	if err != nil || subresource != "scale" {
		return entry, err
	}
	return e.scaleOf(entry)
}

// CreateSubresource implements Interface.
func (e *Endpoint) CreateSubresource(ctx context.Context, namespace, name, subresource string, obj object.Object, options metav1.CreateOptions) (*object.Entry, error) {
	if err := e.hasSubresource(subresource); err != nil {
		return nil, err
	}
	switch o := obj.(type) {
	case *corev1.Binding:
		return nil, e.bind(ctx, namespace, name, o, options)
	case *policyv1.Eviction:
		return nil, e.evict(ctx, namespace, name, o, options)
	}
	return nil, apierrors.NewMethodNotSupported(schema.GroupResource{Group: e.kind.Group, Resource: e.kind.Plural + "/" + subresource}, "create")
}

// preparePart is old with the part that the subresource writes taken from obj.
func preparePart(subresource string, obj, old object.Object) object.Object {
	out := deepCopy(old)
	switch o := out.(type) {
	case *corev1.Namespace:
		if subresource == "finalize" {
			from := obj.(*corev1.Namespace)
			o.ObjectMeta, o.Spec.Finalizers = from.ObjectMeta, from.Spec.Finalizers
		}
	case *certificatesv1.CertificateSigningRequest:
		if subresource == "approval" {
			o.Status.Conditions = obj.(*certificatesv1.CertificateSigningRequest).Status.Conditions
		}
	case *corev1.Pod:
		from := obj.(*corev1.Pod)
		switch subresource {
		case "ephemeralcontainers":
			o.Spec.EphemeralContainers = from.Spec.EphemeralContainers
		case "resize":
			resize(o.Spec.Containers, from.Spec.Containers)
			resize(o.Spec.InitContainers, from.Spec.InitContainers)
			o.Spec.Resources = from.Spec.Resources
		}
	}
	return out
}

// resize takes over the resources of the containers of the same name.
func resize(into, from []corev1.Container) {
	for i := range into {
		at := slices.IndexFunc(from, func(c corev1.Container) bool { return c.Name == into[i].Name })
		if at >= 0 {
			into[i].Resources, into[i].ResizePolicy = from[at].Resources, from[at].ResizePolicy
		}
	}
}
