package defaults

import rbacv1 "k8s.io/api/rbac/v1"

// RoleBinding completes the API groups of a binding's role and subjects.
func RoleBinding(b *rbacv1.RoleBinding) {
	set(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjects(b.Subjects)
}

// ClusterRoleBinding completes the API groups of a binding's role and subjects.
func ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	set(&b.RoleRef.APIGroup, rbacv1.GroupName)
	subjects(b.Subjects)
}

func subjects(list []rbacv1.Subject) {
	for i := range list {
		if s := &list[i]; s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind {
			set(&s.APIGroup, rbacv1.GroupName)
		}
	}
}
