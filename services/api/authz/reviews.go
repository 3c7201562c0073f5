package authz

import (
	"context"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/object"
)

// RuleLister lists the rules that apply to a user.
type RuleLister interface {
	Rules(user authn.User, namespace string) []rbacv1.PolicyRule
}

// Reviews answers the review kinds: each is created, gets its status, and is not stored.
type Reviews struct {
	Authorizer Authorizer
	Rules      RuleLister
}

// SelfSubjectReview says who the caller is.
func (r Reviews) SelfSubjectReview(ctx context.Context, _ string, obj object.Object, _ metav1.CreateOptions) (object.Object, error) {
	review := obj.(*authenticationv1.SelfSubjectReview)
	user, _ := authn.UserFrom(ctx)
	review.Status.UserInfo = authenticationv1.UserInfo{Username: user.Name, UID: user.UID, Groups: user.Groups}
	if len(user.Extra) > 0 {
		review.Status.UserInfo.Extra = make(map[string]authenticationv1.ExtraValue, len(user.Extra))
		for k, v := range user.Extra {
			review.Status.UserInfo.Extra[k] = v
		}
	}
	return review, nil
}

// SelfSubjectAccessReview says whether the caller may do something.
func (r Reviews) SelfSubjectAccessReview(ctx context.Context, _ string, obj object.Object, _ metav1.CreateOptions) (object.Object, error) {
	review := obj.(*authorizationv1.SelfSubjectAccessReview)
	if err := checkAttributes("SelfSubjectAccessReview", review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes, nil); err != nil {
		return nil, err
	}
	user, _ := authn.UserFrom(ctx)
	review.Status = r.answer(ctx, user, review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

// SubjectAccessReview says whether somebody may do something.
func (r Reviews) SubjectAccessReview(ctx context.Context, _ string, obj object.Object, _ metav1.CreateOptions) (object.Object, error) {
	review := obj.(*authorizationv1.SubjectAccessReview)
	if err := checkSubject("SubjectAccessReview", review.Spec); err != nil {
		return nil, err
	}
	review.Status = r.answer(ctx, subject(review.Spec), review.Spec.ResourceAttributes, review.Spec.NonResourceAttributes)
	return review, nil
}

// LocalSubjectAccessReview is SubjectAccessReview within one namespace.
func (r Reviews) LocalSubjectAccessReview(ctx context.Context, namespace string, obj object.Object, _ metav1.CreateOptions) (object.Object, error) {
	review := obj.(*authorizationv1.LocalSubjectAccessReview)
	if review.Spec.ResourceAttributes == nil {
		return nil, invalid("LocalSubjectAccessReview", field.ErrorList{field.Invalid(field.NewPath("spec").Child("resourceAttributes"), nil, "must be specified")})
	}
	if err := checkSubject("LocalSubjectAccessReview", review.Spec); err != nil {
		return nil, err
	}
	if review.Spec.ResourceAttributes.Namespace != namespace {
		return nil, apierrors.NewBadRequest("spec.resourceAttributes.namespace must match namespace: " + namespace)
	}
	review.Status = r.answer(ctx, subject(review.Spec), review.Spec.ResourceAttributes, nil)
	return review, nil
}

// SelfSubjectRulesReview lists what the caller may do in a namespace.
func (r Reviews) SelfSubjectRulesReview(ctx context.Context, _ string, obj object.Object, _ metav1.CreateOptions) (object.Object, error) {
	review := obj.(*authorizationv1.SelfSubjectRulesReview)
	if review.Spec.Namespace == "" {
		return nil, apierrors.NewBadRequest("no namespace on request")
	}
	user, _ := authn.UserFrom(ctx)
	review.Status.ResourceRules, review.Status.NonResourceRules = []authorizationv1.ResourceRule{}, []authorizationv1.NonResourceRule{}
	for _, rule := range r.Rules.Rules(user, review.Spec.Namespace) {
		if len(rule.Resources) > 0 {
			review.Status.ResourceRules = append(review.Status.ResourceRules, authorizationv1.ResourceRule{
				Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames,
			})
		}
		if len(rule.NonResourceURLs) > 0 {
			review.Status.NonResourceRules = append(review.Status.NonResourceRules, authorizationv1.NonResourceRule{
				Verbs: rule.Verbs, NonResourceURLs: rule.NonResourceURLs,
			})
		}
	}
	return review, nil
}

func (r Reviews) answer(ctx context.Context, user authn.User, res *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes) authorizationv1.SubjectAccessReviewStatus {
	var a Attributes
	if res != nil {
		a = Attributes{Verb: res.Verb, Group: res.Group, Version: res.Version, Resource: res.Resource, Subresource: res.Subresource, Namespace: res.Namespace, Name: res.Name}
	} else {
		a = Attributes{Verb: path.Verb, Path: path.Path}
	}
	allowed, why := r.Authorizer.Authorize(ctx, user, a)
	return authorizationv1.SubjectAccessReviewStatus{Allowed: allowed, Reason: why}
}

func subject(s authorizationv1.SubjectAccessReviewSpec) authn.User {
	u := authn.User{Name: s.User, UID: s.UID, Groups: s.Groups}
	if len(s.Extra) > 0 {
		u.Extra = make(map[string][]string, len(s.Extra))
		for k, v := range s.Extra {
			u.Extra[k] = v
		}
	}
	return u
}

func checkSubject(kind string, s authorizationv1.SubjectAccessReviewSpec) error {
	var errs field.ErrorList
	if s.User == "" && len(s.Groups) == 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec").Child("user"), s.User, "at least one of user or group must be specified"))
	}
	return checkAttributes(kind, s.ResourceAttributes, s.NonResourceAttributes, errs)
}

func checkAttributes(kind string, res *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes, errs field.ErrorList) error {
	spec := field.NewPath("spec")
	switch {
	case res != nil && path != nil:
		errs = append(errs, field.Invalid(spec.Child("nonResourceAttributes"), path, "cannot be specified in combination with resourceAttributes"))
	case res == nil && path == nil:
		errs = append(errs, field.Invalid(spec.Child("resourceAttributes"), res, "exactly one of nonResourceAttributes or resourceAttributes must be specified"))
	}
	return invalid(kind, errs)
}

func invalid(kind string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: authorizationv1.GroupName, Kind: kind}, "", errs)
}
