package authn

import (
	"context"
	"slices"
)

// Names and groups that Kubernetes gives a meaning.
const (
	Anonymous             = "system:anonymous"
	GroupAuthenticated    = "system:authenticated"
	GroupUnauthenticated  = "system:unauthenticated"
	GroupMasters          = "system:masters"
	GroupNodes            = "system:nodes"
	GroupFrontProxies     = "system:orrery:gateways"
	NodePrefix            = "system:node:"
	ServiceAccountPrefix  = "system:serviceaccount:"
	GroupServiceAccounts  = "system:serviceaccounts"
	KubeScheduler         = "system:kube-scheduler"
	KubeControllerManager = "system:kube-controller-manager"
)

// User is an identity as authorization and admission see it.
type User struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
}

// InGroup says whether the user belongs to a group.
func (u User) InGroup(group string) bool { return slices.Contains(u.Groups, group) }

type userKey struct{}

// WithUser puts the caller's identity into ctx.
func WithUser(ctx context.Context, u User) context.Context {
	return context.WithValue(ctx, userKey{}, u)
}

// UserFrom is the caller's identity, if ctx has one.
func UserFrom(ctx context.Context) (User, bool) {
	u, ok := ctx.Value(userKey{}).(User)
	return u, ok
}
