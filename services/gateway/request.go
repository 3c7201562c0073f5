package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/internal/requestinfo"
)

// maxBody is Kubernetes' limit for a request body.
const maxBody = 3 << 20

// exchange is what the gateway knows about one request while it runs.
type exchange struct {
	request  *http.Request
	info     requestinfo.Info
	query    url.Values
	response *response
	// longRunning requests have no deadline: watches, followed logs, upgrades.
	longRunning bool
	// neverSent is set when a call failed before any replica of the api got it.
	neverSent bool
	// truncated is set when an answer broke off after its first bytes.
	truncated bool
}

type exchangeKey struct{}

func exchangeFrom(ctx context.Context) *exchange {
	ex, _ := ctx.Value(exchangeKey{}).(*exchange)
	return ex
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	ex := &exchange{request: r, response: &response{ResponseWriter: w}}
	// A malformed pair is left out; the api sees the raw query and judges it.
	ex.query, _ = url.ParseQuery(r.URL.RawQuery)
	ex.info = requestinfo.Parse(r.Method, r.URL.Path, ex.query)
	ex.longRunning = ex.info.Verb == "watch" || ex.info.Connects() ||
		ex.info.IsResource && ex.info.Subresource == "log" && isTrue(ex.query, "follow")
	ex.response.compress = r.Method == http.MethodGet && !ex.longRunning && acceptsGzip(r)
	return ex
}

// safeToRepeat says whether a client may send the request again after a failure: it changes nothing, or nobody saw it.
func (ex *exchange) safeToRepeat() bool {
	return ex == nil || ex.neverSent || ex.request.Method == http.MethodGet || ex.request.Method == http.MethodHead
}

// fail answers with err if nothing was answered yet, else breaks the answer off.
func (ex *exchange) fail(err error) {
	if ex.response.closed {
		return
	}
	if clientGone(ex.request.Context(), err) {
		ex.response.closed = true
		ex.response.status = statusClientGone
		return
	}
	if !ex.response.drop() {
		// A watch may end at any time, and clients resume it. A list or log that only looks complete would be a lie.
		ex.truncated = ex.info.Verb != "watch"
		ex.response.closed = true
		return
	}
	h := ex.response.Header()
	h.Del("Transfer-Encoding")
	h.Del("Content-Length")
	writeStatus(ex.response, ex.request, statusOf(err, ex))
	ex.response.closed = true
}

// statusClientGone is what the metrics show when the client left before the answer.
const statusClientGone = 499

// deadline is the context for the call to the api: 60 s at most, fewer if ?timeout= says so.
func (ex *exchange) deadline(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc, error) {
	if v := ex.query.Get("timeout"); v != "" {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return nil, nil, apierrors.NewBadRequest(fmt.Sprintf("invalid timeout specified in the request URL - %q is not a duration such as 30s", v))
		}
		if d > 0 {
			limit = min(limit, d)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return ctx, cancel, nil
}

// readBody reads the whole body, which has a limit and a deadline.
func readBody(w http.ResponseWriter, r *http.Request, limit time.Duration) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > maxBody {
		return nil, tooLarge()
	}
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(limit)); err == nil {
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	body := http.MaxBytesReader(w, r.Body, maxBody)
	var data []byte
	var err error
	if r.ContentLength > 0 {
		data = make([]byte, r.ContentLength)
		_, err = io.ReadFull(body, data)
	} else {
		data, err = io.ReadAll(body)
	}
	var over *http.MaxBytesError
	switch {
	case err == nil:
		return data, nil
	case errors.As(err, &over):
		return nil, tooLarge()
	}
	return nil, apierrors.NewBadRequest("the request body could not be read: " + err.Error())
}

func tooLarge() error {
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
}

// rawBody is a request body that is already read; the mux's marshaler takes it as it is.
type rawBody struct {
	data        []byte
	contentType string
}

// Read is never needed: the marshaler knows this type, and whoever else drains the body finds it empty.
func (*rawBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close implements io.Closer.
func (*rawBody) Close() error { return nil }

// muxRequest is the request that the mux sees: the route that fits, path and query as RestRequest fields, no headers at
// all (they travel as metadata, see identity.go).
func (ex *exchange) muxRequest(ctx context.Context, body []byte) (*http.Request, error) {
	r := ex.request
	if !utf8.ValidString(r.URL.Path) || !utf8.ValidString(r.URL.RawQuery) || strings.ContainsRune(r.URL.Path, 0) {
		return nil, apierrors.NewBadRequest("the request's path or query is not valid UTF-8")
	}
	method, path := r.Method, strings.TrimRight(r.URL.Path, "/")
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if ex.info.Streams() && method == http.MethodGet {
		path = "/stream" + path
	} else if strings.HasPrefix(path, "/stream/") {
		// The route is the gateway's own, not a path of the API.
		return nil, routingError(http.StatusNotFound)
	}
	query := "query=" + url.QueryEscape(r.URL.RawQuery)
	if strings.Count(path, "/") == 1 {
		// /api, /apis and /version are routes without a path variable.
		query = "path=" + url.QueryEscape(path[1:]) + "&" + query
	}
	out := &http.Request{
		Method:        method,
		URL:           &url.URL{Path: path, RawQuery: query},
		Host:          r.Host,
		RemoteAddr:    r.RemoteAddr,
		Header:        http.Header{},
		Body:          &rawBody{data: body, contentType: r.Header.Get("Content-Type")},
		ContentLength: int64(len(body)),
	}
	return out.WithContext(ctx), nil
}

// isTrue reads a boolean parameter as Kubernetes does: there, and neither "false" nor "0".
func isTrue(query url.Values, key string) bool {
	v, ok := query[key]
	return ok && len(v) > 0 && v[0] != "0" && !strings.EqualFold(v[0], "false")
}
