package server

import (
	"context"
	"crypto/x509"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// Groups and names whose certificates open the store; see AllowedClient.
const (
	ClientsGroup     = "system:orrery:store-clients"
	MembersGroup     = "system:orrery:stores"
	MastersGroup     = "system:masters"
	MemberNamePrefix = "orrery-store"
)

// AllowedClient is who may call the store when nothing else is configured: the API servers, which have ClientsGroup in
// their certificates, operators, and the store's own members. The store holds every secret of the cluster, so being known
// to the certificate authority is not enough.
func AllowedClient(cert *x509.Certificate) bool {
	in := cert.Subject.Organization
	return slices.Contains(in, ClientsGroup) || slices.Contains(in, MastersGroup) || AllowedPeer(cert)
}

// AllowedPeer is who may be a member when nothing else is configured.
func AllowedPeer(cert *x509.Certificate) bool {
	return slices.Contains(cert.Subject.Organization, MembersGroup) || strings.HasPrefix(cert.Subject.CommonName, MemberNamePrefix)
}

// Authorize refuses calls by clients that allowed does not accept. The health service is open to everyone who got
// through the TLS handshake.
func Authorize(allowed func(*x509.Certificate) bool) []grpc.ServerOption {
	check := func(ctx context.Context, method string) error {
		if strings.HasPrefix(method, "/grpc.health.v1.Health/") {
			return nil
		}
		p, ok := peer.FromContext(ctx)
		if !ok {
			return status.Error(codes.Unauthenticated, "the store does not know who calls")
		}
		info, ok := p.AuthInfo.(credentials.TLSInfo)
		if !ok || len(info.State.PeerCertificates) == 0 {
			return status.Error(codes.Unauthenticated, "the store accepts client certificates only: present one")
		}
		if cert := info.State.PeerCertificates[0]; !allowed(cert) {
			return status.Errorf(codes.PermissionDenied, "client %q may not use the store: its certificate needs the organization %q or %q",
				cert.Subject.CommonName, ClientsGroup, MastersGroup)
		}
		return nil
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			if err := check(ctx, info.FullMethod); err != nil {
				return nil, err
			}
			return h(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			if err := check(s.Context(), info.FullMethod); err != nil {
				return err
			}
			return h(srv, s)
		}),
	}
}
