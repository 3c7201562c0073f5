package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/wire"
	"github.com/orrery-io/orrery/services/store/memory"
)

// patience bounds a test that would wait for ever.
const patience = 30 * time.Second

// harness is an api over a store in memory, with mutual TLS.
type harness struct {
	t      testing.TB
	ctx    context.Context
	layout *pki.Layout
	api    *Service
	stop   func() error
}

func start(t testing.TB) *harness {
	t.Helper()
	layout, err := pki.Ensure(t.TempDir(), pki.Options{Nodes: []string{"n1"}})
	if err != nil {
		t.Fatal(err)
	}
	serverTLS, err := layout.ServerTLS(pki.API)
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(memory.Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	api, err := New(Config{Listener: l, KV: store, ServerTLS: serverTLS, DrainTimeout: 2 * time.Second,
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	done := make(chan error, 1)
	running, stopRunning := context.WithCancel(context.Background())
	go func() { done <- api.Run(running) }()
	h := &harness{t: t, ctx: ctx, layout: layout, api: api}
	stopped := false
	h.stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		stopRunning()
		return <-done
	}
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
		store.Close()
		cancel()
	})
	select {
	case <-api.Ready():
	case err := <-done:
		t.Fatalf("the api ended: %v", err)
	case <-ctx.Done():
		t.Fatal("the api did not become ready")
	}
	return h
}

// dial connects with one of the cluster's identities.
func (h *harness) dial(identity string) *grpc.ClientConn {
	h.t.Helper()
	config, err := h.layout.ClientTLS(identity, "")
	if err != nil {
		h.t.Fatal(err)
	}
	conn, err := grpc.NewClient(h.api.Addr(), grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wire.Codec{}), grpc.MaxCallRecvMsgSize(64<<20)))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (h *harness) client(identity string) *apiclient.Client { return apiclient.New(h.dial(identity)) }

// rest is an HTTP client as the gateway forwards one.
type rest struct {
	h    *harness
	conn *grpc.ClientConn
	md   metadata.MD
}

func (h *harness) rest(identity string) *rest {
	return &rest{h: h, conn: h.dial(identity), md: metadata.MD{}}
}

// as returns a client behind the gateway who is somebody.
func (r *rest) with(pairs ...string) *rest {
	return &rest{h: r.h, conn: r.conn, md: metadata.Join(r.md, metadata.Pairs(pairs...))}
}

type reply struct {
	code        string
	contentType string
	body        []byte
	header      metadata.MD
}

// do sends a request; method is RestService's.
func (r *rest) do(method, pathQuery, contentType string, body []byte) (reply, error) {
	path, query, _ := strings.Cut(strings.TrimPrefix(pathQuery, "/"), "?")
	var header metadata.MD
	out := &wire.HTTPBody{}
	ctx := metadata.NewOutgoingContext(r.h.ctx, r.md)
	err := r.conn.Invoke(ctx, "/orrery.api.v1.RestService/"+method,
		&wire.RestRequest{Path: path, Query: query, ContentType: contentType, Body: body}, out, grpc.Header(&header))
	a := reply{contentType: out.ContentType, header: header}
	if v := header.Get("x-http-code"); len(v) > 0 {
		a.code = v[0]
	}
	for _, p := range out.Parts {
		a.body = append(a.body, p...)
	}
	return a, apistatus.FromGRPC(err)
}

// must is do for requests that succeed.
func (r *rest) must(method, pathQuery, contentType, body string) reply {
	r.h.t.Helper()
	a, err := r.do(method, pathQuery, contentType, []byte(body))
	if err != nil {
		r.h.t.Fatalf("%s %s: %v", method, pathQuery, err)
	}
	return a
}

// fails is do for requests that do not.
func (r *rest) fails(method, pathQuery, contentType, body string) *apierrors.StatusError {
	r.h.t.Helper()
	a, err := r.do(method, pathQuery, contentType, []byte(body))
	var s *apierrors.StatusError
	if !errors.As(err, &s) {
		r.h.t.Fatalf("%s %s: error %v, body %.200s", method, pathQuery, err, a.body)
	}
	return s
}

// stream opens RestService.Stream.
func (r *rest) stream(pathQuery string) (next func() (*wire.HTTPBody, error), cancel func()) {
	r.h.t.Helper()
	path, query, _ := strings.Cut(strings.TrimPrefix(pathQuery, "/"), "?")
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(r.h.ctx, r.md))
	s, err := r.conn.NewStream(ctx, &grpc.StreamDesc{StreamName: "Stream", ServerStreams: true}, "/orrery.api.v1.RestService/Stream")
	if err == nil {
		err = s.SendMsg(&wire.RestRequest{Path: path, Query: query})
	}
	if err == nil {
		err = s.CloseSend()
	}
	if err != nil {
		r.h.t.Fatal(err)
	}
	return func() (*wire.HTTPBody, error) {
		b := &wire.HTTPBody{}
		err := s.RecvMsg(b)
		if err == io.EOF {
			return nil, err
		}
		return b, apistatus.FromGRPC(err)
	}, cancel
}
