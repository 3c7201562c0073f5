package authz

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/authn"
)

// Attributes is what a request asks for.
type Attributes struct {
	// Verb is Kubernetes' verb, or the method in lower case for a path that is no resource.
	Verb string
	// Resource is empty for a path that is no resource.
	Group, Version, Resource, Subresource string
	Namespace, Name                       string
	// Path is set for a path that is no resource.
	Path string
}

// IsResource tells resource requests from others.
func (a Attributes) IsResource() bool { return a.Resource != "" }

// Authorizer decides. The reason explains a refusal where there is more to say than that nothing allows it.
type Authorizer interface {
	Authorize(ctx context.Context, user authn.User, a Attributes) (allowed bool, reason string)
}

// AlwaysAllow is the authorizer of tests that are about something else.
type AlwaysAllow struct{}

// Authorize allows.
func (AlwaysAllow) Authorize(context.Context, authn.User, Attributes) (bool, string) { return true, "" }

// Forbidden is the 403 for a refusal, in Kubernetes' words.
func Forbidden(user authn.User, a Attributes, reason string) error {
	message := refusal(user, a)
	if reason != "" {
		message += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.Group, Resource: a.Resource}, a.Name, errors.New(message))
}

func refusal(user authn.User, a Attributes) string {
	if !a.IsResource() {
		return fmt.Sprintf("User %q cannot %s path %q", user.Name, a.Verb, a.Path)
	}
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	if a.Namespace != "" {
		return fmt.Sprintf("User %q cannot %s resource %q in API group %q in the namespace %q", user.Name, a.Verb, resource, a.Group, a.Namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q at the cluster scope", user.Name, a.Verb, resource, a.Group)
}
