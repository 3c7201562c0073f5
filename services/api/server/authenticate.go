package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Authenticate says who calls, from a call's context.
type Authenticate func(ctx context.Context) (authn.User, error)

// identify puts the user as whom a request acts into its context.
func (s *Server) identify(ctx context.Context) (_ context.Context, err error) {
	in, span := s.tracer.Start(ctx, "authn")
	defer func() { telemetry.End(span, err) }()
	user, err := s.config.Authenticate(in)
	if err == nil {
		user, err = s.impersonate(in, user)
	}
	if err != nil {
		return nil, err
	}
	return authn.WithUser(ctx, user), nil
}

func (s *Server) authenticateUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	ctx, err := s.identify(ctx)
	if err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

func (s *Server) authenticateStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	ctx, err := s.identify(stream.Context())
	if err != nil {
		return err
	}
	return handler(srv, &contextStream{stream, ctx})
}

// contextStream is a stream with another context.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }
