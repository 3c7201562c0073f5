package server

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
)

// Answerer answers the create of a kind that is not stored: a review. It returns the object with its status filled in.
type Answerer func(ctx context.Context, namespace string, obj object.Object, options metav1.CreateOptions) (object.Object, error)

// resource is one kind as the fronts serve it.
type resource struct {
	kind *registry.Kind
	view *negotiate.View
	// verbs is nil for a kind that is not stored; then answer serves its create.
	verbs  endpoint.Interface
	answer Answerer
}

// resources finds kinds by group, version and plural.
type resources map[schema.GroupVersionResource]*resource

// target is what an operation is about.
type target struct {
	*resource
	namespace, name, subresource string
}

// find resolves names to a target. A resource that does not exist, one outside of its scope and an unknown subresource are 404.
func (r resources) find(gvr schema.GroupVersionResource, namespace, name, subresource string) (target, error) {
	res, ok := r[gvr]
	if !ok {
		return target{}, errNoSuchResource()
	}
	t := target{resource: res, namespace: namespace, name: name, subresource: subresource}
	if !res.kind.Namespaced {
		if namespace != "" && !(gvr.Resource == "namespaces" && namespace == name) {
			return target{}, errNoSuchResource()
		}
		t.namespace = ""
	}
	if subresource != "" && !res.kind.HasSubresource(subresource) {
		return target{}, errNoSuchResource()
	}
	return t, nil
}

// gvk is the kind that the target exchanges: its own or the subresource's.
func (t target) gvk() schema.GroupVersionKind {
	if t.subresource != "" {
		if s, ok := t.kind.Sub(t.subresource); ok && s.Kind != "" {
			return schema.GroupVersionKind{Group: s.Group, Version: s.Version, Kind: s.Kind}
		}
	}
	return t.view.GVK
}

// newObject makes the empty object that the target exchanges.
func (t target) newObject() (object.Object, error) {
	if t.verbs == nil {
		return t.kind.New(), nil
	}
	obj := t.verbs.NewSubresource(t.subresource)
	if obj == nil {
		return nil, errNoSuchResource()
	}
	return obj, nil
}

// allows says whether the target supports a verb; otherwise the error is 405.
func (t target) allows(verb string) error {
	if t.subresource == "" {
		if t.kind.HasVerb(verb) {
			return nil
		}
		return errWrongVerb()
	}
	s, _ := t.kind.Sub(t.subresource)
	for _, v := range s.Verbs {
		if v == verb {
			return nil
		}
	}
	return errWrongVerb()
}

// needsNamespace is 405 for a write to a namespaced kind across all namespaces, and 404 for a name without its namespace.
func (t target) needsNamespace(verb string) error {
	if !t.kind.Namespaced || t.namespace != "" {
		return nil
	}
	switch verb {
	case "list", "watch":
		return nil
	case "create", "deletecollection":
		return errWrongVerb()
	}
	return errNoSuchResource()
}

func errNoSuchResource() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}

func errWrongVerb() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
	}}
}

var errNameRequired = apierrors.NewBadRequest("name must be provided")

var errStreamOnly = apierrors.NewBadRequest("watches and logs are answered in pieces: call RestService.Stream")
