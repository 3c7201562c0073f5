package server

import (
	"context"

	"google.golang.org/grpc"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/authz"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// authorize lets the caller do a, or is 403.
func (s *Server) authorize(ctx context.Context, a authz.Attributes) (err error) {
	ctx, span := s.tracer.Start(ctx, "authz")
	defer func() { telemetry.End(span, err) }()
	user, _ := authn.UserFrom(ctx)
	if allowed, reason := s.config.Authorizer.Authorize(ctx, user, a); !allowed {
		return authz.Forbidden(user, a, reason)
	}
	return nil
}

// attributesOf is what a request asks for; ok is false for the services that authorize for themselves (node sessions,
// connections) or are open to all (health, reflection).
func (s *Server) attributesOf(fullMethod string, req any) (a authz.Attributes, ok bool) {
	switch q := req.(type) {
	case *restRequest:
		return q.attributes(), true
	case *apiv1.ResourceServiceGetRequest:
		return refAttributes("get", q.GetRef()), true
	case *apiv1.ResourceServiceListRequest:
		return refAttributes("list", q.GetRef()), true
	case *apiv1.ResourceServiceWatchRequest:
		return refAttributes("watch", q.GetRef()), true
	case *apiv1.ResourceServiceCreateRequest:
		return refAttributes("create", q.GetRef()), true
	case *apiv1.ResourceServiceUpdateRequest:
		return refAttributes("update", q.GetRef()), true
	case *apiv1.ResourceServicePatchRequest:
		return refAttributes("patch", q.GetRef()), true
	case *apiv1.ResourceServiceDeleteRequest:
		return refAttributes("delete", q.GetRef()), true
	case *apiv1.ResourceServiceDeleteCollectionRequest:
		return refAttributes("deletecollection", q.GetRef()), true
	case *apiv1.ResourceServiceDiscoverRequest:
		return authz.Attributes{Verb: "get", Path: "/apis"}, true
	}
	if r, typed := s.rpcs[fullMethod]; typed {
		return r.attributes(req), true
	}
	return a, false
}

func (s *Server) authorizeUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if a, ok := s.attributesOf(info.FullMethod, req); ok {
		if err := s.authorize(ctx, a); err != nil {
			return nil, err
		}
	}
	return handler(ctx, req)
}

// authorizeStream authorizes the one request of a server stream as the handler receives it.
func (s *Server) authorizeStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if info.IsClientStream {
		return handler(srv, stream)
	}
	return handler(srv, &authorizedStream{stream, s, info.FullMethod})
}

type authorizedStream struct {
	grpc.ServerStream
	server *Server
	method string
}

func (a *authorizedStream) RecvMsg(m any) error {
	if err := a.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if asked, ok := a.server.attributesOf(a.method, m); ok {
		return a.server.authorize(a.Context(), asked)
	}
	return nil
}
