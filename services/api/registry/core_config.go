package registry

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

// configKinds are what pods are given to work with: configuration, secrets, identities.
func configKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.ConfigMapList]("", "v1", "configmaps", rules[*corev1.ConfigMap]{
			Validate:                 validation.ConfigMap,
			ValidateUpdate:           validation.ConfigMapUpdate,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ConfigMapColumns,
			Row:                      row.ConfigMap,
		}),
		entry[*corev1.SecretList]("", "v1", "secrets", rules[*corev1.Secret]{
			Default:                  defaults.Secret,
			Validate:                 validation.Secret,
			ValidateUpdate:           validation.SecretUpdate,
			AllowUnconditionalUpdate: true,
			FieldNames:               []string{"type"},
			Fields:                   func(s *corev1.Secret) fields.Set { return fields.Set{"type": string(s.Type)} },
			Columns:                  tables.SecretColumns,
			Row:                      row.Secret,
		}),
		entry[*corev1.ServiceAccountList]("", "v1", "serviceaccounts", rules[*corev1.ServiceAccount]{
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ServiceAccountColumns,
			Row:                      row.ServiceAccount,
		}),
	}
}
