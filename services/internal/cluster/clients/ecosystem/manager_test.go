package ecosystem

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// note keeps a ConfigMap for each Deployment, as an operator would.
type note struct{ client.Client }

func (n note) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var deployment appsv1.Deployment
	if err := n.Get(ctx, request.NamespacedName, &deployment); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name + "-note"}}
	_, err := controllerutil.CreateOrUpdate(ctx, n.Client, m, func() error {
		m.Data = map[string]string{"image": deployment.Spec.Template.Spec.Containers[0].Image}
		return controllerutil.SetControllerReference(&deployment, m, n.Scheme())
	})
	return ctrl.Result{}, err
}

// A controller-runtime manager, with its leader election, reconciles through the gateway.
func TestControllerRuntimeManager(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	manager, err := ctrl.NewManager(restConfig(t), ctrl.Options{
		LeaderElection: true, LeaderElectionID: "note.example.com", LeaderElectionNamespace: "default", LeaderElectionReleaseOnCancel: true,
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ctrl.NewControllerManagedBy(manager).For(&appsv1.Deployment{}).Owns(&corev1.ConfigMap{}).Complete(note{manager.GetClient()}); err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	direct, err := client.NewWithWatch(restConfig(t), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watch, err := direct.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"), client.MatchingFields{"metadata.name": "web-note"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	var first types.UID
	for event := range watch.ResultChan() {
		m, ok := event.Object.(*corev1.ConfigMap)
		if !ok || event.Type == "DELETED" {
			continue
		}
		if m.Data["image"] != "nginx:1.27" {
			t.Fatalf("the note says %v", m.Data)
		}
		if first == "" {
			// Deleting what the operator owns makes it come back.
			first = m.UID
			if err := direct.Delete(ctx, m); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if m.UID != first {
			return
		}
	}
	t.Fatal("the operator's ConfigMap did not come back")
}
