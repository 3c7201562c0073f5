package authn

import (
	"context"
	"crypto/x509"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Metadata keys by which the front proxy says who its client is.
const (
	headerUser        = "x-remote-user"
	headerUID         = "x-remote-uid"
	headerGroup       = "x-remote-group"
	headerExtraPrefix = "x-remote-extra-"
)

// Authenticate decides who calls, by the client certificate of the call's TLS connection: its common name is the user,
// its organizations are the groups. Only the gateway, known by its own certificate, may name another user, in x-remote-user and
// its sisters. Who proves nothing is system:anonymous. The error is 401.
func Authenticate(ctx context.Context) (User, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	cert := peerCertificate(ctx)
	if cert != nil && !isFrontProxy(cert) {
		return fromCertificate(cert), nil
	}
	if cert != nil {
		if names := md.Get(headerUser); len(names) > 0 && names[0] != "" {
			return fromHeaders(names[0], md), nil
		}
	}
	if bearer(md) {
		return User{}, apierrors.NewUnauthorized("Unauthorized")
	}
	return User{Name: Anonymous, Groups: []string{GroupUnauthenticated}}, nil
}

func peerCertificate(ctx context.Context) *x509.Certificate {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	// A chain exists only when the certificate was verified against the client authorities.
	if !ok || len(info.State.VerifiedChains) == 0 || len(info.State.VerifiedChains[0]) == 0 {
		return nil
	}
	return info.State.VerifiedChains[0][0]
}

func isFrontProxy(cert *x509.Certificate) bool {
	for _, o := range cert.Subject.Organization {
		if o == GroupFrontProxies {
			return true
		}
	}
	return false
}

func fromCertificate(cert *x509.Certificate) User {
	groups := make([]string, 0, len(cert.Subject.Organization)+1)
	groups = append(append(groups, cert.Subject.Organization...), GroupAuthenticated)
	return User{Name: cert.Subject.CommonName, Groups: groups}
}

func fromHeaders(name string, md metadata.MD) User {
	u := User{Name: name, Groups: append([]string(nil), md.Get(headerGroup)...)}
	if uid := md.Get(headerUID); len(uid) > 0 {
		u.UID = uid[0]
	}
	for key, values := range md {
		if extra, ok := strings.CutPrefix(key, headerExtraPrefix); ok {
			if u.Extra == nil {
				u.Extra = map[string][]string{}
			}
			u.Extra[extra] = values
		}
	}
	if name == Anonymous {
		if !u.InGroup(GroupUnauthenticated) {
			u.Groups = append(u.Groups, GroupUnauthenticated)
		}
		return u
	}
	if !u.InGroup(GroupAuthenticated) && !u.InGroup(GroupUnauthenticated) {
		u.Groups = append(u.Groups, GroupAuthenticated)
	}
	return u
}

func bearer(md metadata.MD) bool {
	for _, v := range md.Get("authorization") {
		if len(v) >= 7 && strings.EqualFold(v[:7], "bearer ") {
			return true
		}
	}
	return false
}
