package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"google.golang.org/grpc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// A panic in one request is that request's 500; the others go on.

func recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(ctx, info.FullMethod, p)
		}
	}()
	return handler(ctx, req)
}

func recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(stream.Context(), info.FullMethod, p)
		}
	}()
	return handler(srv, stream)
}

func panicked(ctx context.Context, method string, p any) error {
	slog.ErrorContext(ctx, "a request panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
	return apierrors.NewInternalError(fmt.Errorf("this request caused apiserver to panic. Look in the logs for details"))
}
