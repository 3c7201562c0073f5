package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/api/authn"
)

// Authenticate says who calls, from a call's context.
type Authenticate func(ctx context.Context) (authn.User, error)

func (s *Server) authenticateUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	user, err := s.config.Authenticate(ctx)
	if err != nil {
		return nil, err
	}
	return handler(authn.WithUser(ctx, user), req)
}

func (s *Server) authenticateStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	user, err := s.config.Authenticate(stream.Context())
	if err != nil {
		return err
	}
	return handler(srv, &contextStream{stream, authn.WithUser(stream.Context(), user)})
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }
