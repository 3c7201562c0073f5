package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/negotiate"
	"github.com/orrery-io/orrery/services/api/warning"
	"github.com/orrery-io/orrery/services/internal/wire"
)

const restService = "orrery.api.v1.RestService"

// registerRest adds RestService. It needs no generated code: requests and answers are wire envelopes.
func (s *Server) registerRest(g *grpc.Server) {
	desc := grpc.ServiceDesc{ServiceName: restService, HandlerType: (*any)(nil), Metadata: "orrery/api/v1/rest.proto"}
	for name, method := range restMethods {
		request := func() any { return &restRequest{method: method} }
		if name == "Stream" {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: true,
				Handler: func(_ any, stream grpc.ServerStream) error {
					q := request().(*restRequest)
					if err := stream.RecvMsg(q); err != nil {
						return malformed(err)
					}
					return s.restStream(stream, q)
				}})
			continue
		}
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name,
			Handler: unaryMethod("/"+restService+"/"+name, request, func(ctx context.Context, q any) (any, error) { return s.restUnary(ctx, q.(*restRequest)) })})
	}
	g.RegisterService(&desc, s)
}

// headers are the request headers that the gateway forwards.
type headers struct{ accept, contentType, userAgent string }

func headersOf(ctx context.Context, q *restRequest) headers {
	md, _ := metadata.FromIncomingContext(ctx)
	h := headers{accept: joined(md, "accept"), contentType: q.ContentType, userAgent: first(md, "x-user-agent", "grpcgateway-user-agent", "user-agent")}
	if c := first(md, "content-type", "x-content-type"); h.contentType == "" && !strings.HasPrefix(c, "application/grpc") {
		h.contentType = c
	}
	return h
}

// joined is all values of a repeated header as one.
func joined(md metadata.MD, key string) string { return strings.Join(md.Get(key), ",") }

func first(md metadata.MD, keys ...string) string {
	for _, k := range keys {
		if v := md.Get(k); len(v) > 0 {
			return v[0]
		}
	}
	return ""
}

// restUnary answers a request with one body.
func (s *Server) restUnary(ctx context.Context, q *restRequest) (any, error) {
	ctx, warnings := warning.WithRecorder(ctx)
	a, err := s.restAnswer(ctx, q, headersOf(ctx, q))
	md := metadata.MD{}
	if w := warnings.Headers(); len(w) > 0 {
		md["warning"] = w
	}
	if err == nil && a.code != 0 && a.code != http.StatusOK {
		md["x-http-code"] = []string{strconv.Itoa(a.code)}
	}
	for k, v := range a.headers {
		md["x-http-header-"+k] = []string{v}
	}
	if len(md) > 0 {
		if serr := grpc.SetHeader(ctx, md); serr != nil && err == nil {
			err = serr
		}
	}
	if err != nil {
		return nil, err
	}
	return &wire.HTTPBody{ContentType: a.contentType, Parts: a.parts}, nil
}

// restCall is a request on a resource, read and resolved.
type restCall struct {
	*restRequest
	headers
	target target
}

func (s *Server) resolve(q *restRequest, h headers) (restCall, error) {
	i := q.info
	c := restCall{restRequest: q, headers: h}
	if (i.APIPrefix == "api") != (i.Group == "") || i.Rest != "" && i.Subresource != "proxy" {
		return c, errNoSuchResource()
	}
	name := i.Name
	if i.Collection() {
		// A name that a field selector gave is for authorization; the selector itself does the selecting.
		name = ""
	}
	var err error
	c.target, err = s.resources.find(schema.GroupVersionResource{Group: i.Group, Version: i.Version, Resource: i.Resource}, i.Namespace, name, i.Subresource)
	if err == nil && q.badQuery != nil {
		err = apierrors.NewBadRequest(q.badQuery.Error())
	}
	return c, err
}

// format negotiates the answer's encoding.
func (c restCall) format(scope negotiate.Scope) (negotiate.Format, error) {
	f, err := negotiate.Accept(c.accept, scope)
	if err != nil {
		return f, err
	}
	if scope != negotiate.Stream {
		pretty, present := c.query["pretty"]
		value := ""
		if len(pretty) > 0 {
			value = pretty[0]
		}
		f.Pretty = f.Pretty || negotiate.Pretty(value, present, c.userAgent)
	}
	if f.As == negotiate.AsTable {
		f.IncludeObject, err = negotiate.IncludeObject(c.query)
	}
	return f, err
}

func (c restCall) payload() payload { return payload{c.contentType, c.Body} }

// restAnswer serves a request whose answer is one body.
func (s *Server) restAnswer(ctx context.Context, q *restRequest, h headers) (answer, error) {
	if !q.info.IsResource {
		return s.restDocument(ctx, q, h)
	}
	c, err := s.resolve(q, h)
	if err != nil {
		return answer{}, err
	}
	switch q.info.Verb {
	case "get":
		return s.restGet(ctx, c)
	case "list":
		return s.restList(ctx, c)
	case "create":
		return s.restCreate(ctx, c)
	case "update":
		return s.restUpdate(ctx, c)
	case "patch":
		return s.restPatch(ctx, c)
	case "delete":
		return s.restDelete(ctx, c)
	case "deletecollection":
		return s.restDeleteCollection(ctx, c)
	case "watch":
		return answer{}, errStreamOnly
	}
	return answer{}, errWrongVerb()
}

// restDocument serves discovery, OpenAPI and the version.
func (s *Server) restDocument(ctx context.Context, q *restRequest, h headers) (answer, error) {
	if q.method != http.MethodGet {
		return answer{}, errWrongVerb()
	}
	if s.config.Documents == nil {
		return answer{}, errNoSuchResource()
	}
	md, _ := metadata.FromIncomingContext(ctx)
	d, found, err := s.config.Documents.Serve(q.info.Path, q.query, h.accept, first(md, "if-none-match", "grpcgateway-if-none-match"))
	switch {
	case err != nil:
		return answer{}, err
	case !found:
		return answer{}, errNoSuchResource()
	}
	return answer{code: d.Code, contentType: d.ContentType, parts: [][]byte{d.Body}, headers: d.Headers}, nil
}
