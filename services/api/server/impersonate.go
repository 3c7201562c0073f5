package server

import (
	"context"
	"net/url"
	"strings"

	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/authz"
)

// Metadata keys of impersonation: the Impersonate-* headers of Kubernetes.
const (
	impersonateUser        = "impersonate-user"
	impersonateUID         = "impersonate-uid"
	impersonateGroup       = "impersonate-group"
	impersonateExtraPrefix = "impersonate-extra-"
)

// impersonate is the user as whom a request acts: the caller, or whoever the Impersonate-* headers name, if the caller may
// impersonate each part of that identity.
func (s *Server) impersonate(ctx context.Context, caller authn.User) (authn.User, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	names := md.Get(impersonateUser)
	if len(names) == 0 {
		if len(md.Get(impersonateGroup)) > 0 || len(md.Get(impersonateUID)) > 0 {
			return authn.User{}, apierrors.NewBadRequest("requested to impersonate groups or a uid without impersonating a user: set Impersonate-User too")
		}
		return caller, nil
	}
	user := authn.User{Name: names[0], Groups: append([]string(nil), md.Get(impersonateGroup)...)}
	asked := []authz.Attributes{{Verb: "impersonate", Version: "v1", Resource: "users", Name: user.Name}}
	if namespace, name, ok := serviceAccount(user.Name); ok {
		asked[0] = authz.Attributes{Verb: "impersonate", Version: "v1", Resource: "serviceaccounts", Namespace: namespace, Name: name}
		if len(user.Groups) == 0 {
			user.Groups = []string{authn.GroupServiceAccounts, authn.GroupServiceAccounts + ":" + namespace}
		}
	}
	for _, g := range md.Get(impersonateGroup) {
		asked = append(asked, authz.Attributes{Verb: "impersonate", Version: "v1", Resource: "groups", Name: g})
	}
	const identity = "authentication.k8s.io"
	if uid := md.Get(impersonateUID); len(uid) > 0 {
		user.UID = uid[0]
		asked = append(asked, authz.Attributes{Verb: "impersonate", Group: identity, Version: "v1", Resource: "uids", Name: user.UID})
	}
	for key, values := range md {
		extra, ok := strings.CutPrefix(key, impersonateExtraPrefix)
		if !ok {
			continue
		}
		if plain, err := url.PathUnescape(extra); err == nil {
			extra = plain
		}
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[extra] = values
		for _, v := range values {
			asked = append(asked, authz.Attributes{Verb: "impersonate", Group: identity, Version: "v1", Resource: "userextras", Subresource: extra, Name: v})
		}
	}
	for _, a := range asked {
		if allowed, reason := s.config.Authorizer.Authorize(ctx, caller, a); !allowed {
			return authn.User{}, authz.Forbidden(caller, a, reason)
		}
	}
	switch {
	case user.Name == authn.Anonymous:
		if !user.InGroup(authn.GroupUnauthenticated) {
			user.Groups = append(user.Groups, authn.GroupUnauthenticated)
		}
	case !user.InGroup(authn.GroupAuthenticated):
		user.Groups = append(user.Groups, authn.GroupAuthenticated)
	}
	return user, nil
}

func serviceAccount(user string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(user, authn.ServiceAccountPrefix)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}
