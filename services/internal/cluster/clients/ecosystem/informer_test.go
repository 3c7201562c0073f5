package ecosystem

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func restConfig(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// A shared informer, in JSON and in protobuf, sees an object come, change and go.
func TestSharedInformerFollowsConfigMaps(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			config := restConfig(t)
			config.ContentType = contentType
			clients, err := kubernetes.NewForConfig(config)
			if err != nil {
				t.Fatal(err)
			}
			factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace("default"))
			seen := make(chan string, 100)
			informer := factory.Core().V1().ConfigMaps().Informer()
			name := fmt.Sprintf("watched-%d", time.Now().UnixNano())
			mine := func(obj any) (*corev1.ConfigMap, bool) {
				m, ok := obj.(*corev1.ConfigMap)
				return m, ok && m.Name == name
			}
			if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: func(obj any) {
					if m, ok := mine(obj); ok {
						seen <- "add " + m.Data["v"]
					}
				},
				UpdateFunc: func(_, obj any) {
					if m, ok := mine(obj); ok {
						seen <- "update " + m.Data["v"]
					}
				},
				DeleteFunc: func(obj any) {
					if m, ok := mine(obj); ok {
						seen <- "delete " + m.Data["v"]
					}
				},
			}); err != nil {
				t.Fatal(err)
			}
			factory.Start(ctx.Done())
			if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
				t.Fatal("the informer did not sync")
			}
			maps := clients.CoreV1().ConfigMaps("default")
			m, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": "1"}}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stale := m.DeepCopy()
			m.Data["v"] = "2"
			if _, err := maps.Update(ctx, m, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			stale.Data["v"] = "3"
			if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Errorf("an update from a stale resourceVersion: %v, want a conflict", err)
			}
			if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"add 1", "update 2", "delete 2"} {
				select {
				case got := <-seen:
					if got != want {
						t.Fatalf("saw %q, want %q", got, want)
					}
				case <-ctx.Done():
					t.Fatalf("did not see %q", want)
				}
			}
		})
	}
}
