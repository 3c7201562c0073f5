package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if testDir != "" {
		_ = os.RemoveAll(testDir)
	}
	os.Exit(code)
}

var testDir string

func mkdirTemp() (dir string, err error) {
	testDir, err = os.MkdirTemp("", "gateway-pki-")
	return testDir, err
}

func TestRoutes(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client(pki.Admin)
	for _, tc := range []struct{ method, url, rpc, path, query string }{
		{"GET", "/api", "Get", "api", ""},
		{"GET", "/apis", "Get", "apis", ""},
		{"GET", "/apis/", "Get", "apis", ""},
		{"GET", "/api/v1/", "Get", "api/v1", ""},
		{"GET", "/version", "Get", "version", ""},
		{"GET", "/openapi/v3/apis/apps/v1?hash=X", "Get", "openapi/v3/apis/apps/v1", "hash=X"},
		{"GET", "/api/v1", "Get", "api/v1", ""},
		{"GET", "/api/v1/namespaces/default/pods/web", "Get", "api/v1/namespaces/default/pods/web", ""},
		{"HEAD", "/api/v1/namespaces/default/pods/web", "Get", "api/v1/namespaces/default/pods/web", ""},
		{"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", "Get", "apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", ""},
		{"GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", "Get", "apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", ""},
		{"GET", "/api/v1/pods?labelSelector=app%3Dweb%2Ca&path=evil&query=x;y&limit=5", "Stream", "api/v1/pods", "labelSelector=app%3Dweb%2Ca&path=evil&query=x;y&limit=5"},
		{"GET", "/apis/apps/v1/deployments?watch=1", "Stream", "apis/apps/v1/deployments", "watch=1"},
		{"GET", "/api/v1/watch/namespaces/default/pods", "Stream", "api/v1/watch/namespaces/default/pods", ""},
		{"GET", "/api/v1/namespaces/default/pods/web/log?tailLines=1", "Stream", "api/v1/namespaces/default/pods/web/log", "tailLines=1"},
		{"POST", "/api/v1/namespaces/default/pods?dryRun=All", "Create", "api/v1/namespaces/default/pods", "dryRun=All"},
		{"POST", "/api/v1/namespaces/default/pods/web/binding", "Create", "api/v1/namespaces/default/pods/web/binding", ""},
		{"PUT", "/apis/apps/v1/namespaces/default/deployments/web/scale", "Update", "apis/apps/v1/namespaces/default/deployments/web/scale", ""},
		{"PATCH", "/api/v1/nodes/n1/status", "Patch", "api/v1/nodes/n1/status", ""},
		{"DELETE", "/api/v1/namespaces/x", "Delete", "api/v1/namespaces/x", ""},
	} {
		t.Run(tc.method+tc.url, func(t *testing.T) {
			body := ""
			if tc.method != "GET" && tc.method != "HEAD" {
				body = `{"some":"body"}`
			}
			a := w.do(c, tc.method, tc.url, body, "Content-Type", "application/x-www-form-urlencoded")
			if a.StatusCode != 200 || tc.method != "HEAD" && a.body != `{"method":"`+tc.rpc+`"}` {
				t.Fatalf("%d %s", a.StatusCode, a.body)
			}
			got := w.api.last()
			if got.method != tc.rpc || got.req.Path != tc.path || got.req.Query != tc.query || string(got.req.Body.GetData()) != body {
				t.Errorf("%s %v", got.method, got.req)
			}
			if body != "" && got.req.Body.ContentType != "application/x-www-form-urlencoded" {
				t.Errorf("content type %q", got.req.Body.ContentType)
			}
		})
	}
}

func TestIdentity(t *testing.T) {
	w := newWorld(t, nil)
	forged := []string{"X-Remote-User", "root", "X-Remote-Group", "system:masters", "Grpc-Metadata-X-Remote-User", "root", "X-Remote-Extra-A", "b", "Grpc-Timeout", "1n"}
	w.do(w.client(pki.NodeCert("n1")), "GET", "/api/v1/nodes/n1", "", append(forged, "Authorization", "Bearer t")...)
	got := w.api.last()
	if u, g := got.md.Get(keyUser), got.md.Get(keyGroup); fmt.Sprint(u, g) != "[system:node:n1] [system:nodes]" {
		t.Errorf("user %v, groups %v", u, g)
	}
	if got.first("authorization") != "" || got.first("x-remote-extra-a") != "" {
		t.Errorf("%v", got.md)
	}
	w.do(w.client(""), "GET", "/api/v1/nodes/n1", "", append(forged, "Authorization", "Bearer secret", "User-Agent", "kubectl/v1", "Impersonate-User", "jane")...)
	got = w.api.last()
	if got.first("authorization") != "Bearer secret" || got.first(keyUser) != "" {
		t.Errorf("%v", got.md)
	}
	if got.first("x-user-agent") != "kubectl/v1" || got.first("impersonate-user") != "jane" {
		t.Errorf("%v", got.md)
	}
	w.do(w.client(""), "GET", "/api/v1/nodes/n1", "", forged...)
	if got = w.api.last(); got.first(keyUser) != "system:anonymous" || got.first(keyGroup) != "system:unauthenticated" {
		t.Errorf("%v", got.md)
	}
}

func TestErrorsAreStatuses(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.RequestTimeout = 200 * time.Millisecond })
	pods := schema.GroupResource{Resource: "pods"}
	var fail error
	w.api.unary = func(ctx context.Context, c call) (*httpbody.HttpBody, error) {
		if c.req.Query == "hang" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return nil, fail
	}
	w.api.stream = func(call, apiv1.RestService_StreamServer) error { return fail }
	c := w.client(pki.Admin)
	check := func(a answer, code int, reason metav1.StatusReason, text string) {
		t.Helper()
		var s metav1.Status
		if err := json.Unmarshal([]byte(a.body), &s); err != nil {
			t.Fatalf("%v in %q", err, a.body)
		}
		if a.StatusCode != code || int(s.Code) != code || s.Reason != reason || s.Kind != "Status" || s.APIVersion != "v1" || !strings.Contains(s.Message, text) {
			t.Errorf("HTTP %d, %+v", a.StatusCode, s)
		}
		if ct := a.Header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("content type %q", ct)
		}
	}
	const pod = "/api/v1/namespaces/default/pods/web"
	fail = apierrors.NewNotFound(pods, "web")
	check(w.do(c, "GET", pod, ""), 404, metav1.StatusReasonNotFound, `pods "web" not found`)
	fail = apierrors.NewConflict(pods, "web", fmt.Errorf("stale"))
	check(w.do(c, "PUT", pod, "{}"), 409, metav1.StatusReasonConflict, "stale")
	fail = apierrors.NewResourceExpired("too old resource version")
	check(w.do(c, "GET", "/api/v1/pods?watch=1", ""), 410, metav1.StatusReasonExpired, "too old")
	check(w.do(c, "GET", "/api/v1/pods", "", "Accept-Encoding", "gzip"), 410, metav1.StatusReasonExpired, "too old")
	fail = apierrors.NewTooManyRequests("slow down", 3)
	a := w.do(c, "POST", "/api/v1/namespaces/default/pods", "{}")
	check(a, 429, metav1.StatusReasonTooManyRequests, "slow down")
	if a.Header.Get("Retry-After") != "3" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
	check(w.do(c, "GET", "/nowhere", ""), 404, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	check(w.do(c, "GET", "/stream/api/v1/pods", ""), 404, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	check(w.do(c, "POST", "/version", "{}"), 405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource")
	check(w.do(c, "OPTIONS", pod, ""), 405, metav1.StatusReasonMethodNotAllowed, "does not allow this method")
	check(w.do(c, "POST", pod, strings.Repeat("x", maxBody+1)), 413, metav1.StatusReasonRequestEntityTooLarge, "limit is 3145728")
	check(w.do(c, "GET", pod+"?timeout=soon", ""), 400, metav1.StatusReasonBadRequest, "invalid timeout")
	check(w.do(c, "GET", pod+"/exec?command=ls&stdout=1", ""), 400, metav1.StatusReasonBadRequest, "Upgrade request required")
	check(w.do(c, "GET", "/api/v1/namespaces/%ff/pods/x", ""), 400, metav1.StatusReasonBadRequest, "UTF-8")
	check(w.do(c, "GET", pod+"?hang", ""), 504, metav1.StatusReasonTimeout, "request did not complete within")

	fail = apierrors.NewNotFound(pods, "web")
	a = w.do(c, "GET", pod, "", "Accept", "application/vnd.kubernetes.protobuf,application/json")
	raw, ok := strings.CutPrefix(a.body, "k8s\x00")
	var envelope runtime.Unknown
	var s metav1.Status
	if !ok || envelope.Unmarshal([]byte(raw)) != nil || s.Unmarshal(envelope.Raw) != nil || s.Code != 404 || envelope.Kind != "Status" {
		t.Errorf("protobuf Status: %q", a.body)
	}

	w.stopAPI()
	a = w.do(c, "GET", pod, "")
	check(a, 503, metav1.StatusReasonServiceUnavailable, "cannot be reached")
	if a.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After %q", a.Header.Get("Retry-After"))
	}
}

func TestCodesWarningsAndHeaders(t *testing.T) {
	w := newWorld(t, nil)
	w.api.unary = func(ctx context.Context, _ call) (*httpbody.HttpBody, error) {
		must(t, grpc.SetHeader(ctx, metadata.Pairs(keyCode, "201", keyWarning, `299 - "a"`, keyWarning, `299 - "b"`, keyHeaderPrefix+"etag", "E", "secret", "s")))
		return &httpbody.HttpBody{ContentType: "application/yaml", Data: []byte("x")}, nil
	}
	a := w.do(w.client(pki.Admin), "POST", "/api/v1/namespaces", "{}")
	if a.StatusCode != 201 || a.body != "x" || a.Header.Get("Content-Type") != "application/yaml" {
		t.Errorf("%d %q %v", a.StatusCode, a.body, a.Header)
	}
	if fmt.Sprint(a.Header["Warning"]) != `[299 - "a" 299 - "b"]` || a.Header.Get("Etag") != "E" || a.Header.Get("Secret") != "" {
		t.Errorf("%v", a.Header)
	}
}

func TestWatchIsFlushedPieceByPiece(t *testing.T) {
	w := newWorld(t, nil)
	next := make(chan string)
	w.api.stream = func(_ call, s apiv1.RestService_StreamServer) error {
		if err := s.Send(&httpbody.HttpBody{ContentType: "application/json;stream=watch"}); err != nil {
			return err
		}
		for {
			select {
			case data, ok := <-next:
				if !ok {
					return nil
				}
				if err := s.Send(&httpbody.HttpBody{Data: []byte(data)}); err != nil {
					return err
				}
			case <-s.Context().Done():
				return s.Context().Err()
			}
		}
	}
	open := func() (*http.Response, *bufio.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/api/v1/pods?watch=true", nil)
		must(t, err)
		r.Header.Set("Accept-Encoding", "gzip")
		resp, err := w.client(pki.Admin).Do(r) // returns at the headers, before any event
		must(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp, bufio.NewReader(resp.Body)
	}
	resp, body := open()
	if resp.Header.Get("Content-Type") != "application/json;stream=watch" || resp.ProtoMajor != 2 {
		t.Errorf("%v %v", resp.Proto, resp.Header)
	}
	for i := range 3 {
		next <- fmt.Sprintf("{%d}\n", i)
		line, err := body.ReadString('\n')
		if err != nil || line != fmt.Sprintf("{%d}\n", i) {
			t.Fatalf("%q %v", line, err)
		}
	}
	// An api that dies ends the watch, it does not break it: clients resume.
	_, second := open()
	w.stopAPI()
	for _, b := range []*bufio.Reader{body, second} {
		if rest, err := io.ReadAll(b); err != nil || len(rest) > 0 {
			t.Errorf("%q %v", rest, err)
		}
	}
}

func TestBrokenListIsNotTakenForWhole(t *testing.T) {
	for _, encoding := range []string{"identity", "gzip"} {
		w := newWorld(t, nil)
		w.api.stream = func(_ call, s apiv1.RestService_StreamServer) error {
			must(t, s.Send(&httpbody.HttpBody{ContentType: "application/json", Data: bytes.Repeat([]byte("x"), 200<<10)}))
			return apierrors.NewInternalError(fmt.Errorf("disk"))
		}
		r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/api/v1/pods", nil)
		must(t, err)
		r.Header.Set("Accept-Encoding", encoding)
		resp, err := w.client(pki.Admin).Do(r)
		if err != nil {
			continue // broken off before the headers got through
		}
		n, err := io.Copy(io.Discard, resp.Body)
		if err == nil {
			t.Errorf("%s: the body ended as if it were whole: %d bytes", encoding, n)
		}
		must(t, resp.Body.Close())
	}
}

func TestGzip(t *testing.T) {
	w := newWorld(t, nil)
	big := strings.Repeat(`{"a":"b"},`, 30000)
	w.api.unary = func(context.Context, call) (*httpbody.HttpBody, error) {
		return &httpbody.HttpBody{ContentType: "application/json", Data: []byte(big)}, nil
	}
	w.api.stream = func(c call, s apiv1.RestService_StreamServer) error {
		text := big
		if strings.Contains(c.req.Query, "limit") {
			text = big[:1000]
		}
		must(t, s.Send(&httpbody.HttpBody{ContentType: "application/json"}))
		for len(text) > 0 {
			n := min(len(text), 40000)
			must(t, s.Send(&httpbody.HttpBody{Data: []byte(text[:n])}))
			text = text[n:]
		}
		return nil
	}
	c := w.client(pki.Admin)
	for _, path := range []string{"/api/v1/pods", "/openapi/v2"} {
		a := w.do(c, "GET", path, "", "Accept-Encoding", "gzip")
		if a.Header.Get("Content-Encoding") != "gzip" || len(a.body) > len(big)/10 {
			t.Fatalf("%s: %v, %d bytes", path, a.Header, len(a.body))
		}
		z, err := gzip.NewReader(strings.NewReader(a.body))
		must(t, err)
		if b, err := io.ReadAll(z); err != nil || string(b) != big {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
		if a = w.do(c, "GET", path, ""); a.Header.Get("Content-Encoding") != "" || a.body != big {
			t.Errorf("%s: compressed unasked", path)
		}
	}
	a := w.do(c, "GET", "/api/v1/pods?limit=1", "", "Accept-Encoding", "gzip")
	if a.Header.Get("Content-Encoding") != "" || a.body != big[:1000] || a.ContentLength != 1000 {
		t.Errorf("small list: %v, %d bytes", a.Header, len(a.body))
	}
}

func TestHealth(t *testing.T) {
	w := newWorld(t, nil)
	c := w.client("")
	for path, want := range map[string]string{
		"/livez":           "ok",
		"/healthz":         "ok",
		"/readyz":          "ok",
		"/readyz/api":      "ok",
		"/readyz?verbose":  "[+]ping ok\n[+]api ok\n[+]shutdown ok\nreadyz check passed\n",
		"/livez?verbose=1": "[+]ping ok\nlivez check passed\n",
	} {
		if a := w.do(c, "GET", path, ""); a.StatusCode != 200 || a.body != want {
			t.Errorf("%s: %d %q", path, a.StatusCode, a.body)
		}
	}
	w.health.SetServingStatus("", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if a := w.do(c, "GET", "/readyz", ""); a.StatusCode != 500 || !strings.Contains(a.body, "[-]api failed: the api says NOT_SERVING\n") || !strings.HasSuffix(a.body, "readyz check failed\n") {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
	if a := w.do(c, "GET", "/readyz?exclude=api", ""); a.StatusCode != 200 {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
	if a := w.do(c, "GET", "/livez", ""); a.StatusCode != 200 {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
	if a := w.do(c, "GET", "/readyz/nothing", ""); a.StatusCode != 404 {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
	if a := w.do(c, "GET", "/metrics", ""); a.StatusCode != 401 {
		t.Errorf("%d", a.StatusCode)
	}
	if a := w.do(w.client(pki.Admin), "GET", "/metrics", ""); a.StatusCode != 200 || !strings.Contains(a.body, "orrery_gateway_requests_running") {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
}

func TestDrainEndsWatchesAndFinishesRequests(t *testing.T) {
	w := newWorld(t, nil)
	inside, release := make(chan struct{}), make(chan struct{})
	w.api.unary = func(context.Context, call) (*httpbody.HttpBody, error) {
		close(inside)
		<-release
		return &httpbody.HttpBody{Data: []byte("done")}, nil
	}
	w.api.stream = func(_ call, s apiv1.RestService_StreamServer) error {
		must(t, s.Send(&httpbody.HttpBody{ContentType: "application/json"}))
		<-s.Context().Done()
		return s.Context().Err()
	}
	r, err := http.NewRequestWithContext(t.Context(), "GET", w.url+"/api/v1/pods?watch=true", nil)
	must(t, err)
	watch, err := w.client(pki.Admin).Do(r)
	must(t, err)
	defer func() { _ = watch.Body.Close() }()
	result := make(chan answer, 1)
	go func() { result <- w.do(w.client(pki.Admin), "GET", "/api/v1/nodes/n1", "") }()
	<-inside
	go func() {
		if rest, err := io.ReadAll(watch.Body); err != nil || len(rest) > 0 {
			t.Errorf("the watch ended with %q %v", rest, err)
		}
		close(release) // only now: the running request outlives the watch
	}()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.stopGateway()
	}()
	if a := <-result; a.body != "done" {
		t.Errorf("%d %q", a.StatusCode, a.body)
	}
	<-stopped
}

func TestTraceContext(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	t.Run("off", func(t *testing.T) {
		w := newWorld(t, nil)
		w.do(w.client(pki.Admin), "GET", "/api/v1/nodes/n1", "", "Traceparent", parent)
		if got := w.api.last().first("traceparent"); got != parent {
			t.Errorf("%q", got)
		}
	})
	t.Run("on", func(t *testing.T) {
		spans, restore := telemetry.InstallMemory()
		defer restore()
		w := newWorld(t, nil)
		w.do(w.client(pki.Admin), "GET", "/api/v1/namespaces/default/pods/web", "", "Traceparent", parent)
		w.stop()
		names := map[string]bool{}
		for _, s := range spans.GetSpans() {
			if s.SpanContext.TraceID().String() == parent[3:35] {
				names[s.Name] = true
			}
		}
		if !names["HTTP GET /api/v1/pods"] || !names["orrery.api.v1.RestService/Get"] {
			t.Errorf("%v", names)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, nil)
	w.api.stream = func(c call, s apiv1.RestService_StreamServer) error {
		must(t, s.Send(&httpbody.HttpBody{ContentType: "application/json"}))
		for i := range 20 {
			if err := s.Send(&httpbody.HttpBody{Data: fmt.Appendf(nil, "%s %d\n", c.req.Query, i)}); err != nil {
				return err
			}
		}
		return nil
	}
	c := w.client(pki.Admin)
	var wg sync.WaitGroup
	for i := range 300 { // more than fit into the usual 250 streams of one connection
		wg.Go(func() {
			query := fmt.Sprintf("watch=1&n=%d", i)
			a := w.do(c, "GET", "/api/v1/pods?"+query, "")
			var want strings.Builder
			for j := range 20 {
				fmt.Fprintf(&want, "%s %d\n", query, j)
			}
			if a.body != want.String() {
				t.Errorf("stream %d got %q", i, a.body)
			}
			if a := w.do(c, "PUT", fmt.Sprintf("/api/v1/nodes/n%d", i), "{}"); a.StatusCode != 200 {
				t.Errorf("%d %s", a.StatusCode, a.body)
			}
		})
	}
	wg.Wait()
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	_, err := New(Config{ListenAddr: "nonsense", APIAddrs: []string{"also nonsense"}})
	for _, want := range []string{`"nonsense" is not host:port`, `"also nonsense"`, "no TLS configuration"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}
