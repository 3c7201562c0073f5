package registry

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/registry/tables"
)

// virtualKinds are answered on the spot and never stored.
func virtualKinds(o Options) []*Kind {
	const authentication, authorization = "authentication.k8s.io", "authorization.k8s.io"
	return []*Kind{
		entry[*metav1.List]("", "v1", "bindings", rules[*corev1.Binding]{NotStored: true}),
		entry[*corev1.ComponentStatusList]("", "v1", "componentstatuses", rules[*corev1.ComponentStatus]{
			NotStored: true, Columns: tables.ComponentStatusColumns, Row: o.rows().ComponentStatus,
		}),
		entry[*metav1.List](authentication, "v1", "selfsubjectreviews", rules[*authenticationv1.SelfSubjectReview]{NotStored: true}),
		entry[*metav1.List](authentication, "v1", "tokenreviews", rules[*authenticationv1.TokenReview]{NotStored: true}),
		entry[*metav1.List](authorization, "v1", "localsubjectaccessreviews", rules[*authorizationv1.LocalSubjectAccessReview]{NotStored: true}),
		entry[*metav1.List](authorization, "v1", "selfsubjectaccessreviews", rules[*authorizationv1.SelfSubjectAccessReview]{NotStored: true}),
		entry[*metav1.List](authorization, "v1", "selfsubjectrulesreviews", rules[*authorizationv1.SelfSubjectRulesReview]{NotStored: true}),
		entry[*metav1.List](authorization, "v1", "subjectaccessreviews", rules[*authorizationv1.SubjectAccessReview]{NotStored: true}),
	}
}
