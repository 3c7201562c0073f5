package registry

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func rbacKinds(o Options) []*Kind {
	row := o.rows()
	const group = "rbac.authorization.k8s.io"
	return []*Kind{
		entry[*rbacv1.RoleList](group, "v1", "roles", rules[*rbacv1.Role]{
			Validate:                 validation.Role,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                path.ValidatePathSegmentName,
		}),
		entry[*rbacv1.ClusterRoleList](group, "v1", "clusterroles", rules[*rbacv1.ClusterRole]{
			Validate:                 validation.ClusterRole,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                path.ValidatePathSegmentName,
		}),
		entry[*rbacv1.RoleBindingList](group, "v1", "rolebindings", rules[*rbacv1.RoleBinding]{
			Default:                  defaults.RoleBinding,
			Validate:                 validation.RoleBinding,
			ValidateUpdate:           validation.RoleBindingUpdate,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                path.ValidatePathSegmentName,
			Columns:                  tables.RoleBindingColumns,
			Row:                      row.RoleBinding,
		}),
		entry[*rbacv1.ClusterRoleBindingList](group, "v1", "clusterrolebindings", rules[*rbacv1.ClusterRoleBinding]{
			Default:                  defaults.ClusterRoleBinding,
			Validate:                 validation.ClusterRoleBinding,
			ValidateUpdate:           validation.ClusterRoleBindingUpdate,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                path.ValidatePathSegmentName,
			Columns:                  tables.RoleBindingColumns,
			Row:                      row.ClusterRoleBinding,
		}),
	}
}
