package server

import (
	"context"

	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// unaryHandler serves one shape of method, whatever the kind.
type unaryHandler struct {
	request func() any
	serve   func(ctx context.Context, r rpc, request any) (any, error)
}

// shape makes a unaryHandler of a function over its own request type.
func shape[Q any](serve func(ctx context.Context, r rpc, q *Q) (any, error)) unaryHandler {
	return unaryHandler{
		request: func() any { return new(Q) },
		serve:   func(ctx context.Context, r rpc, request any) (any, error) { return serve(ctx, r, request.(*Q)) },
	}
}

// unaryShapes has every shape but Watch, which streams.
var unaryShapes = map[kinds.Shape]unaryHandler{
	kinds.ShapeGet:              shape(typedGet),
	kinds.ShapeList:             shape(typedList),
	kinds.ShapeCreate:           shape(typedCreate),
	kinds.ShapeUpdate:           shape(typedUpdate),
	kinds.ShapePatch:            shape(typedPatch),
	kinds.ShapeDelete:           shape(typedDelete),
	kinds.ShapeDeleteCollection: shape(typedDeleteCollection),
}

// registerTyped adds the typed service of every resource.
func (s *Server) registerTyped(g *grpc.Server) {
	for _, res := range s.resources {
		desc := grpc.ServiceDesc{ServiceName: res.kind.Service, HandlerType: (*any)(nil), Metadata: res.kind.ProtoFile}
		for _, m := range res.kind.Methods {
			r := rpc{res, m}
			s.rpcs[res.kind.FullMethod(m)] = r
			if m.Shape == kinds.ShapeWatch {
				desc.Streams = append(desc.Streams, grpc.StreamDesc{
					StreamName: m.Name, ServerStreams: true,
					Handler: func(_ any, stream grpc.ServerStream) error { return s.typedWatch(r, stream) },
				})
				continue
			}
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: m.Name, Handler: typedUnary(r, unaryShapes[m.Shape])})
		}
		g.RegisterService(&desc, s)
	}
}

// typedUnary is the gRPC handler of one method.
func typedUnary(r rpc, h unaryHandler) grpc.MethodHandler {
	method := r.kind.FullMethod(r.method)
	serve := func(ctx context.Context, request any) (any, error) { return h.serve(ctx, r, request) }
	return unaryMethod(method, h.request, serve)
}

// unaryMethod is the gRPC handler of a method whose request needs no generated code. A request that cannot be decoded passes the
// interceptors as an error, so that it is counted and answered with a Status like any other.
func unaryMethod(method string, request func() any, serve grpc.UnaryHandler) grpc.MethodHandler {
	return func(srv any, ctx context.Context, dec func(any) error, interceptor grpc.UnaryServerInterceptor) (any, error) {
		q := request()
		handler := serve
		if err := dec(q); err != nil {
			q, handler = nil, func(context.Context, any) (any, error) { return nil, malformed(err) }
		}
		if interceptor == nil {
			return handler(ctx, q)
		}
		return interceptor(ctx, q, &grpc.UnaryServerInfo{Server: srv, FullMethod: method}, handler)
	}
}

func (s *Server) typedWatch(r rpc, stream grpc.ServerStream) error {
	q := &wire.ListRequest{}
	if err := stream.RecvMsg(q); err != nil {
		return malformed(err)
	}
	return s.serveTypedWatch(stream, r.target(q.Namespace, ""), q.Options)
}
