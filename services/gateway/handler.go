package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/internal/requestinfo"
)

// ServeHTTP takes a request through the gateway: panics are caught, the request is counted, timed and traced, then it goes to the
// route that serves it.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.health.serve(w, r) {
		return
	}
	ex := newExchange(w, r)
	begun := s.clock.Now()
	ctx := context.WithValue(r.Context(), exchangeKey{}, ex)
	ctx, span := s.startSpan(ctx, ex)
	done := s.metrics.begin(ex)
	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			s.log.ErrorContext(ctx, "request handler panicked", "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			ex.fail(apierrors.NewInternalError(errors.New("the gateway failed on this request; its log has the details")))
		}
		if err := ex.response.finish(); err != nil {
			ex.truncated = true
		}
		code := ex.response.status
		done(code)
		endSpan(span, code)
		s.log.DebugContext(ctx, "request", "method", r.Method, "path", r.URL.Path, "verb", ex.info.Verb, "code", code, "bytes", ex.response.bytes,
			"client", r.RemoteAddr, "userAgent", r.UserAgent(), "duration", s.clock.Since(begun))
		if p == http.ErrAbortHandler || ex.truncated { //nolint:errorlint // as above
			// The only way to tell a client that an answer is not whole is to break the connection, or to reset the stream.
			panic(http.ErrAbortHandler)
		}
	}()
	ex.request = r.WithContext(ctx)
	s.route(ctx, w, ex)
}

// route serves one request within ctx.
func (s *Service) route(ctx context.Context, w http.ResponseWriter, ex *exchange) {
	r := ex.request
	switch {
	case r.Method == http.MethodOptions, r.Method == http.MethodHead && ex.longRunning:
		ex.response.Header().Set("Allow", "GET, POST, PUT, PATCH, DELETE")
		ex.fail(routingError(http.StatusMethodNotAllowed))
		return
	case ex.info.Connects():
		ctx, cancel := s.untilDrained(ctx)
		defer cancel()
		s.connect(ctx, w, ex)
		return
	case ex.longRunning:
		var cancel context.CancelFunc
		ctx, cancel = s.untilDrained(ctx)
		defer cancel()
	default:
		timed, cancel, err := ex.deadline(ctx, s.config.RequestTimeout)
		if err != nil {
			ex.fail(err)
			return
		}
		defer cancel()
		ctx = timed
	}
	var body []byte
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		var err error
		if body, err = readBody(w, r, s.config.RequestTimeout); err != nil {
			ex.fail(err)
			return
		}
	}
	out, err := ex.muxRequest(ctx, body)
	if err != nil {
		ex.fail(err)
		return
	}
	s.mux.ServeHTTP(ex.response, out)
	if !ex.response.closed {
		ex.response.WriteHeader(http.StatusOK) // a stream that ended without a piece
	}
}

// untilDrained ends ctx also when the gateway drains: what could run for hours has to end then.
func (s *Service) untilDrained(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.draining, cancel)
	return ctx, func() { stop(); cancel() }
}

// startSpan begins the server span of a request, in the client's trace if it sent one.
func (s *Service) startSpan(ctx context.Context, ex *exchange) (context.Context, trace.Span) {
	if !s.tracing {
		return ctx, trace.SpanFromContext(ctx)
	}
	r := ex.request
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	attrs := []attribute.KeyValue{
		attribute.String("http.request.method", r.Method),
		attribute.String("url.path", r.URL.Path),
		attribute.String("user_agent.original", r.UserAgent()),
		attribute.String("orrery.verb", ex.info.Verb),
	}
	if ex.info.IsResource {
		attrs = append(attrs, attribute.String("orrery.resource", ex.info.Resource), attribute.String("k8s.namespace.name", ex.info.Namespace), attribute.String("orrery.name", ex.info.Name))
	}
	return s.tracer.Start(ctx, "HTTP "+r.Method+" "+routeName(ex.info), trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
}

// routeName is a request's path without the names of objects, so that spans of one kind of request share a name.
func routeName(i requestinfo.Info) string {
	if !i.IsResource {
		if i.APIPrefix != "" {
			return "/" + i.APIPrefix
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(i.Path, "/"), "/")
		return "/" + first
	}
	parts := []string{"", i.APIPrefix}
	if i.Group != "" {
		parts = append(parts, i.Group)
	}
	parts = append(parts, i.Version, i.Resource)
	if i.Subresource != "" {
		parts = append(parts, i.Subresource)
	}
	return strings.Join(parts, "/")
}

func endSpan(span trace.Span, code int) {
	if span.IsRecording() {
		span.SetAttributes(attribute.Int("http.response.status_code", code))
		if code >= 500 && code != http.StatusNotImplemented {
			span.SetStatus(codes.Error, http.StatusText(code))
		}
	}
	span.End()
}
