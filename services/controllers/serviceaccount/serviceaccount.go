package serviceaccount

// Watches: Namespaces, ServiceAccounts.
// Writes: ServiceAccounts (create).

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// name of the service account that every namespace has.
const name = "default"

// Config is what the controller needs.
type Config struct {
	Client          *apiclient.Client
	Namespaces      *informer.Informer[*corev1.Namespace]
	ServiceAccounts *informer.Informer[*corev1.ServiceAccount]
	Clock           clock.WithTicker
	Logger          *slog.Logger
}

// New makes the controller and registers its handlers; call it before the informers run. Its keys are namespaces.
func New(config Config) *controller.Controller {
	c := controller.New("serviceaccount", config.reconcile, controller.Options{Workers: 2, Clock: config.Clock, Logger: config.Logger})
	config.Namespaces.AddHandler(controller.Handle(c, controller.Self[*corev1.Namespace]))
	config.ServiceAccounts.AddHandler(informer.Handler[*corev1.ServiceAccount]{Delete: func(sa *corev1.ServiceAccount, cause informer.Cause) {
		if sa.Name == name {
			c.Enqueue(sa.Namespace, cause)
		}
	}})
	return c
}

func (c Config) reconcile(ctx context.Context, namespace string) (controller.Result, error) {
	ns, ok := c.Namespaces.Get(namespace)
	if !ok || ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating {
		return controller.Result{}, nil
	}
	if _, ok := c.ServiceAccounts.Get(namespace + "/" + name); ok {
		return controller.Result{}, nil
	}
	_, err := c.Client.ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return controller.Result{}, nil
	}
	return controller.Result{}, fmt.Errorf("creating service account %s/%s: %w", namespace, name, err)
}
