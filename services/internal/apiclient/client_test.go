package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/wire"
)

func TestKindOf(t *testing.T) {
	for want, obj := range map[string]any{
		"/v1 Pod": &corev1.Pod{}, "apps/v1 Deployment": &appsv1.Deployment{}, "rbac.authorization.k8s.io/v1 Role": &rbacv1.Role{},
		"node.k8s.io/v1 RuntimeClass": &nodev1.RuntimeClass{}, "policy": nil, "meta": &metav1.Status{},
	} {
		kind, ok := KindOf(obj)
		if got := kind.Group + "/" + kind.Version + " " + kind.Kind; ok != strings.Contains(want, "/") || ok && got != want {
			t.Errorf("%T: %s, %v; want %s", obj, got, ok, want)
		}
	}
}

// server answers every call with reply, over a real connection.
func server(t *testing.T, handle func(method string, stream grpc.ServerStream) error) *Client {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.ForceServerCodecV2(wire.Codec{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		return apistatus.ToGRPC(handle(method, stream))
	}))
	go func() { _ = s.Serve(l) }()
	client, closeClient, err := Dial(Config{Addresses: []string{l.Addr().String()}, UserAgent: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = closeClient(); s.Stop() })
	return client
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestVerbsCarryTheirRequestAndErrorsKeepTheirStatus(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	c := server(t, func(method string, stream grpc.ServerStream) error {
		switch method {
		case "/orrery.core.v1.PodService/Get":
			var r wire.GetRequest
			if err := stream.RecvMsg(&r); err != nil {
				return err
			}
			if r.Name == "missing" {
				return apierrors.NewNotFound(pods, r.Name)
			}
			return stream.SendMsg(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Name}})
		case "/orrery.core.v1.PodService/UpdateStatus":
			var r wire.UpdateRequest
			if err := stream.RecvMsg(&r); err != nil {
				return err
			}
			return apierrors.NewConflict(pods, "p", errors.New("stale in "+r.Namespace))
		case "/orrery.core.v1.PodService/List":
			return stream.SendMsg(&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}, Items: []corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}})
		}
		return apierrors.NewMethodNotSupported(pods, method)
	})
	ctx := testContext(t)
	p, err := c.Pods("ns").Get(ctx, "p")
	if err != nil || p.Namespace != "ns" || p.Name != "p" {
		t.Errorf("Get: %v, %v", p, err)
	}
	if _, err := c.Pods("ns").Get(ctx, "missing"); !apierrors.IsNotFound(err) || err.Error() != `pods "missing" not found` {
		t.Errorf("Get of what is missing: %v", err)
	}
	// A client of all namespaces takes the object's.
	if _, err := c.Pods("").UpdateStatus(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "of-the-object"}}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "of-the-object") {
		t.Errorf("UpdateStatus: %v", err)
	}
	items, rv, err := c.Pods("").ListAll(ctx, metav1.ListOptions{})
	if err != nil || rv != "9" || len(items) != 2 || items[1].Name != "b" {
		t.Errorf("ListAll: %v at %s: %v", items, rv, err)
	}
	if _, err := c.Pods("ns").Create(ctx, &corev1.Pod{}); !apierrors.IsMethodNotSupported(err) {
		t.Errorf("Create: %v", err)
	}
}

func TestAWatchYieldsEventsThenHowItEnded(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old resource version").Status()
	c := server(t, func(method string, stream grpc.ServerStream) error {
		var r wire.ListRequest
		if err := stream.RecvMsg(&r); err != nil {
			return err
		}
		data, _ := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}).Marshal()
		frames := []wire.Event{{}, {Type: "ADDED", Object: data, TraceParent: "cause"}}
		if r.Options.ResourceVersion == "1" {
			frames = []wire.Event{{Type: "ERROR", Status: &expired}}
		}
		for _, f := range frames {
			if err := stream.SendMsg(&wire.Body{Data: f.AppendWire(nil)}); err != nil {
				return err
			}
		}
		return nil
	})
	ctx := testContext(t)
	w, err := c.Pods("").Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The empty frame that only opens the stream is not shown.
	event, err := w.Recv()
	if err != nil || event.Type != watch.Added || event.Object.Name != "p" || event.TraceParent != "cause" {
		t.Errorf("event %+v: %v", event, err)
	}
	if _, err := w.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: %v", err)
	}
	w, err = c.Pods("").Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Recv(); !apierrors.IsResourceExpired(err) {
		t.Errorf("expired: %v", err)
	}
}

func TestDialRefusesWhatCannotWork(t *testing.T) {
	if _, _, err := Dial(Config{}); err == nil {
		t.Error("no address is accepted")
	}
	if _, _, err := Dial(Config{Addresses: []string{"nonsense"}, TLS: &tls.Config{}}); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("an address without a port: %v", err)
	}
}

func TestAnUnreachableAPIIsAnErrorAndNotAHang(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	c, closeClient, err := Dial(Config{Addresses: []string{addr}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = closeClient() }()
	if _, err := c.Pods("").Get(testContext(t), "p"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("Get: %v", err)
	}
}
