package gateway

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/telemetry"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// call is what the fake api saw of one request.
type call struct {
	method string
	req    *apiv1.RestRequest
	md     metadata.MD
}

func (c call) first(key string) string {
	if v := c.md.Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

// fakeAPI answers by functions that a test sets.
type fakeAPI struct {
	apiv1.UnimplementedRestServiceServer
	apiv1.UnimplementedConnectServiceServer

	mu      sync.Mutex
	calls   []call
	unary   func(ctx context.Context, c call) (*httpbody.HttpBody, error)
	stream  func(c call, s apiv1.RestService_StreamServer) error
	connect func(open *apiv1.ConnectOpen, s apiv1.ConnectService_ConnectServer) error
}

func (f *fakeAPI) record(ctx context.Context, method string, r *apiv1.RestRequest) call {
	md, _ := metadata.FromIncomingContext(ctx)
	c := call{method: method, req: proto.CloneOf(r), md: md}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	return c
}

func (f *fakeAPI) last() call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1]
}

func (f *fakeAPI) answer(ctx context.Context, method string, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	c := f.record(ctx, method, r)
	if f.unary == nil {
		return &httpbody.HttpBody{ContentType: "application/json", Data: []byte(`{"method":"` + method + `"}`)}, nil
	}
	b, err := f.unary(ctx, c)
	return b, apistatus.ToGRPC(err)
}

func (f *fakeAPI) Get(ctx context.Context, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	return f.answer(ctx, "Get", r)
}

func (f *fakeAPI) Create(ctx context.Context, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	return f.answer(ctx, "Create", r)
}

func (f *fakeAPI) Update(ctx context.Context, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	return f.answer(ctx, "Update", r)
}

func (f *fakeAPI) Patch(ctx context.Context, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	return f.answer(ctx, "Patch", r)
}

func (f *fakeAPI) Delete(ctx context.Context, r *apiv1.RestRequest) (*httpbody.HttpBody, error) {
	return f.answer(ctx, "Delete", r)
}

func (f *fakeAPI) Stream(r *apiv1.RestRequest, s apiv1.RestService_StreamServer) error {
	c := f.record(s.Context(), "Stream", r)
	if f.stream == nil {
		return s.Send(&httpbody.HttpBody{ContentType: "application/json", Data: []byte(`{"method":"Stream"}`)})
	}
	return apistatus.ToGRPC(f.stream(c, s))
}

func (f *fakeAPI) Connect(s apiv1.ConnectService_ConnectServer) error {
	m, err := s.Recv()
	if err != nil {
		return err
	}
	return apistatus.ToGRPC(f.connect(m.GetOpen(), s))
}

// world is a gateway in front of a fake api, with certificates for both.
type world struct {
	t      testing.TB
	api    *fakeAPI
	layout *pki.Layout
	url    string
	health *grpchealth.Server
	stop   func()
	// stopGateway ends Run and waits for it.
	stopGateway func()
	// stopAPI kills the api.
	stopAPI func()
}

var testPKI struct {
	once   sync.Once
	layout *pki.Layout
	err    error
}

func newWorld(t testing.TB, change func(*Config)) *world {
	t.Helper()
	testPKI.once.Do(func() {
		var dir string
		if dir, testPKI.err = mkdirTemp(); testPKI.err == nil {
			testPKI.layout, testPKI.err = pki.Ensure(dir, pki.Options{Nodes: []string{"n1"}})
		}
	})
	must(t, testPKI.err)
	w := &world{t: t, api: &fakeAPI{}, layout: testPKI.layout, health: grpchealth.NewServer()}

	serverTLS, err := w.layout.ServerTLS(pki.API)
	must(t, err)
	serverTLS.NextProtos = []string{"h2"}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	server := grpc.NewServer(append(telemetry.ServerOptions("api"), grpc.Creds(credentials.NewTLS(serverTLS)), grpc.ForceServerCodecV2(wire.Codec{}))...)
	apiv1.RegisterRestServiceServer(server, w.api)
	apiv1.RegisterConnectServiceServer(server, w.api)
	grpc_health_v1.RegisterHealthServer(server, w.health)
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(l) })
	w.stopAPI = server.Stop

	config := Config{ListenAddr: "127.0.0.1:0", APIAddrs: []string{l.Addr().String()}, Logger: slog.New(slog.DiscardHandler)}
	config.ServerTLS, err = w.layout.ServerTLSOptional(pki.Gateway)
	must(t, err)
	config.APITLS, err = w.layout.ClientTLS(pki.Gateway, "")
	must(t, err)
	if change != nil {
		change(&config)
	}
	s, err := New(config)
	must(t, err)
	w.url = "https://" + s.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() {
		defer close(ran)
		if err := s.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	w.stopGateway = func() { cancel(); <-ran }
	w.stop = sync.OnceFunc(func() {
		w.stopGateway()
		server.Stop()
		running.Wait()
	})
	t.Cleanup(w.stop)
	select {
	case <-s.Ready():
	case <-t.Context().Done():
		t.Fatal("never ready")
	}
	return w
}

// client is an HTTP client that shows the certificate name, none for "".
func (w *world) client(name string) *http.Client {
	w.t.Helper()
	var c *tls.Config
	if name == "" {
		pool, err := w.layout.CAPool()
		must(w.t, err)
		c = &tls.Config{RootCAs: pool}
	} else {
		var err error
		c, err = w.layout.ClientTLS(name, "")
		must(w.t, err)
	}
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableCompression: true}
	w.t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func (w *world) restConfig() *rest.Config {
	w.t.Helper()
	file := w.t.TempDir() + "/kubeconfig"
	must(w.t, w.layout.WriteKubeconfig(file, pki.Admin, w.url))
	c, err := clientcmd.BuildConfigFromFlags("", file)
	must(w.t, err)
	return c
}

type answer struct {
	*http.Response
	body string
}

func (w *world) do(c *http.Client, method, path, body string, headers ...string) answer {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	must(w.t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := c.Do(r)
	must(w.t, err)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		b = fmt.Appendf(b, "<%v>", err)
	}
	return answer{resp, string(b)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
