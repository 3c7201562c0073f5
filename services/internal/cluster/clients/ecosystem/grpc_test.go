package ecosystem

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	corev1 "github.com/orrery-io/orrery/gen/go/orrery/core/v1"
	metav1 "github.com/orrery-io/orrery/gen/go/orrery/meta/v1"
)

func dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	dir := os.Getenv("ORRERY_PKI")
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "admin.crt"), filepath.Join(dir, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	conn, err := grpc.NewClient(os.Getenv("ORRERY_API"), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The generated client lists pods, watches on from there, and sees a pod that another client deletes.
func TestGeneratedClientListsAndWatchesPods(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pods := corev1.NewPodServiceClient(dial(t))
	list, err := pods.List(ctx, &corev1.PodServiceListRequest{Namespace: "default", Options: &metav1.ListOptions{LabelSelector: "app=web"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.GetItems()) != 3 {
		t.Fatalf("%d pods, want 3", len(list.GetItems()))
	}
	watch, err := pods.Watch(ctx, &corev1.PodServiceWatchRequest{Namespace: "default", Options: &metav1.ListOptions{LabelSelector: "app=web", ResourceVersion: list.GetMetadata().GetResourceVersion()}})
	if err != nil {
		t.Fatal(err)
	}
	victim := list.GetItems()[0].GetMetadata().GetName()
	if _, err := pods.Delete(ctx, &corev1.PodServiceDeleteRequest{Namespace: "default", Name: victim}); err != nil {
		t.Fatal(err)
	}
	for {
		event, err := watch.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if event.GetType() == "DELETED" && event.GetObject().GetMetadata().GetName() == victim {
			return
		}
	}
}

// What grpcurl does: ask which services there are.
func TestReflectionListsTypedServices(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream, err := grpc_reflection_v1.NewServerReflectionClient(dial(t)).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(r *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
		if err := stream.Send(r); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	var names []string
	for _, s := range ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
		names = append(names, s.GetName())
	}
	for _, want := range []string{"orrery.core.v1.PodService", "orrery.apps.v1.DeploymentService", "orrery.api.v1.ResourceService"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
	described := ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "orrery.core.v1.PodService"}})
	if len(described.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("PodService is not described: %v", described)
	}
}
