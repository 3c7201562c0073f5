package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/internal/apistatus"
)

// Errors leave as gRPC statuses that carry the Kubernetes Status.

func errorsUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	resp, err := handler(ctx, req)
	if err != nil {
		return nil, apistatus.ToGRPC(err)
	}
	return resp, nil
}

func errorsStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return apistatus.ToGRPC(handler(srv, stream))
}

// malformed is the error of a request message that could not be decoded.
func malformed(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() == codes.Internal {
		return apierrors.NewBadRequest(s.Message())
	}
	return err
}
