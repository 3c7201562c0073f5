package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
)

// Response metadata of the api, see rest.proto.
const (
	keyCode         = "x-http-code"
	keyWarning      = "warning"
	keyHeaderPrefix = "x-http-header-"
)

// newMux is grpc-gateway's mux with every place where it would look into bodies, or answer in its own words, taken over.
func newMux(ctx context.Context, client apiv1.RestServiceClient) (*runtime.ServeMux, error) {
	mux := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, rawMarshaler{}),
		runtime.WithUnescapingMode(runtime.UnescapingModeLegacy), // the path is unescaped by net/http
		runtime.WithDisableChunkedEncoding(),                     // net/http frames bodies, and HTTP/2 knows no chunks
		runtime.WithStrictDeepWildcardMatching(),                 // /api is not api/** with nothing behind it
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithOutgoingHeaderMatcher(responseHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithMetadata(func(ctx context.Context, _ *http.Request) metadata.MD {
			return requestMetadata(exchangeFrom(ctx).request)
		}),
		runtime.WithForwardResponseOption(applyCode),
		runtime.WithErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, _ http.ResponseWriter, _ *http.Request, err error) {
			exchangeFrom(ctx).fail(err)
		}),
		runtime.WithStreamErrorHandler(func(ctx context.Context, err error) *status.Status {
			exchangeFrom(ctx).fail(err)
			return status.New(codes.Unknown, "") // the mux writes it to a response that is closed by now
		}),
		runtime.WithRoutingErrorHandler(func(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, _ http.ResponseWriter, _ *http.Request, code int) {
			exchangeFrom(ctx).fail(routingError(code))
		}),
	)
	if err := apiv1.RegisterRestServiceHandlerClient(ctx, mux, client); err != nil {
		return nil, fmt.Errorf("gateway: cannot register the REST routes: %w", err)
	}
	return mux, nil
}

// responseHeader picks the response metadata that become HTTP headers.
func responseHeader(key string) (string, bool) {
	if key == keyWarning {
		return "Warning", true
	}
	return strings.CutPrefix(key, keyHeaderPrefix)
}

// applyCode takes the status code that the api asked for.
func applyCode(ctx context.Context, _ http.ResponseWriter, _ proto.Message) error {
	md, ok := runtime.ServerMetadataFromContext(ctx)
	if !ok {
		return nil
	}
	values := md.HeaderMD.Get(keyCode)
	if len(values) == 0 {
		return nil
	}
	code, err := strconv.Atoi(values[0])
	if err != nil || code < 200 || code > 599 {
		return fmt.Errorf("the api answered with the status code %q", values[0])
	}
	exchangeFrom(ctx).response.code = code
	return nil
}

// rawMarshaler passes bodies through: what comes is put into an HttpBody, what an HttpBody holds goes out. It adds no
// delimiter between the pieces of a stream.
type rawMarshaler struct{}

// Marshal returns the body's own bytes; of other values (an error of the mux, already answered) it returns none.
func (rawMarshaler) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*httpbody.HttpBody); ok {
		return b.GetData(), nil
	}
	return nil, nil
}

// Unmarshal puts data into an HttpBody.
func (rawMarshaler) Unmarshal(data []byte, v any) error { return setBody(v, data, "") }

// NewDecoder takes the body that the gateway has read.
func (rawMarshaler) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		if raw, ok := r.(*rawBody); ok {
			return setBody(v, raw.data, raw.contentType)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return setBody(v, data, "")
	})
}

// NewEncoder implements runtime.Marshaler.
func (m rawMarshaler) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		b, err := m.Marshal(v)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	})
}

// ContentType is the body's own.
func (rawMarshaler) ContentType(v any) string {
	if b, ok := v.(*httpbody.HttpBody); ok && b.GetContentType() != "" {
		return b.GetContentType()
	}
	return contentJSON
}

// Delimiter implements runtime.Delimited.
func (rawMarshaler) Delimiter() []byte { return nil }

func setBody(v any, data []byte, contentType string) error {
	body := &httpbody.HttpBody{ContentType: contentType, Data: data}
	switch into := v.(type) {
	case **httpbody.HttpBody:
		*into = body
	case *httpbody.HttpBody:
		into.ContentType, into.Data = contentType, data
	default:
		return fmt.Errorf("gateway: a request body cannot be put into a %T", v)
	}
	return nil
}
