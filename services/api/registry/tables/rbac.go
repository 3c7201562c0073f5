package tables

import (
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"time"
)

// RoleBindingColumns are the columns of role bindings and cluster role bindings.
var RoleBindingColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Role", "string", "Role that is given."),
	ageColumn,
	wide("Users", "string", "Users who are given it."),
	wide("Groups", "string", "Groups that are given it."),
	wide("ServiceAccounts", "string", "Service accounts that are given it."),
}

// RoleBinding is the row of a role binding.
func (r Rows) RoleBinding(b *rbacv1.RoleBinding) []any { return r.binding(b, b.RoleRef, b.Subjects) }

// ClusterRoleBinding is the row of a cluster role binding.
func (r Rows) ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) []any {
	return r.binding(b, b.RoleRef, b.Subjects)
}

func (r Rows) binding(b metav1.Object, role rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		}
	}
	return []any{
		b.GetName(), role.Kind + "/" + role.Name, r.age(b),
		strings.Join(users, ", "), strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

// SigningRequestColumns are the columns of certificate signing requests.
var SigningRequestColumns = []metav1.TableColumnDefinition{
	nameColumn, ageColumn,
	column("SignerName", "string", "Who is asked to sign."),
	column("Requestor", "string", "Who asked."),
	column("RequestedDuration", "string", "How long the certificate should be valid."),
	column("Condition", "string", "What became of the request."),
}

// SigningRequest is the row of a certificate signing request.
func (r Rows) SigningRequest(c *certificatesv1.CertificateSigningRequest) []any {
	lifetime := none
	if c.Spec.ExpirationSeconds != nil {
		lifetime = duration.HumanDuration(time.Duration(*c.Spec.ExpirationSeconds) * time.Second)
	}
	has := map[certificatesv1.RequestConditionType]bool{}
	for _, condition := range c.Status.Conditions {
		has[condition.Type] = true
	}
	state := "Pending"
	switch {
	case has[certificatesv1.CertificateDenied]:
		state = "Denied"
	case has[certificatesv1.CertificateApproved]:
		state = "Approved"
	}
	if has[certificatesv1.CertificateFailed] {
		state += ",Failed"
	}
	if len(c.Status.Certificate) > 0 {
		state += ",Issued"
	}
	return []any{c.Name, r.age(c), or(c.Spec.SignerName, none), c.Spec.Username, lifetime, state}
}

// TrustBundleColumns are the columns of cluster trust bundles.
var TrustBundleColumns = []metav1.TableColumnDefinition{
	nameColumn, column("SignerName", "string", "Signer that the certificates are of."),
}

// TrustBundle is the row of a cluster trust bundle.
func (r Rows) TrustBundle(b *certificatesv1.ClusterTrustBundle) []any {
	return []any{b.Name, or(b.Spec.SignerName, none)}
}
