package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

// configKinds are what pods are given to work with: configuration, secrets, identities.
func configKinds(o Options) []*Kind {
	return []*Kind{
		entry[*corev1.ConfigMapList]("", "v1", "configmaps", rules[*corev1.ConfigMap]{
			AllowUnconditionalUpdate: true,
		}),
		entry[*corev1.SecretList]("", "v1", "secrets", rules[*corev1.Secret]{
			Default:                  defaults.Secret,
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"type"},
			Fields:                   func(s *corev1.Secret) fields.Set { return fields.Set{"type": string(s.Type)} },
		}),
		entry[*corev1.ServiceAccountList]("", "v1", "serviceaccounts", rules[*corev1.ServiceAccount]{
			AllowUnconditionalUpdate: true,
		}),
	}
}
