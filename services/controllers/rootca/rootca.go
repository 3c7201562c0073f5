package rootca

// Watches: Namespaces, ConfigMaps of the one name.
// Writes: ConfigMaps (create, update).

import (
	"context"
	"fmt"
	"log/slog"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Name of the ConfigMap; its only key is "ca.crt".
const Name = "kube-root-ca.crt"

const (
	descriptionAnnotation = "kubernetes.io/description"
	description           = "The certificate authority of this cluster's api, for clients inside the cluster."
)

// Config is what the controller needs.
type Config struct {
	Client     *apiclient.Client
	Namespaces *informer.Informer[*corev1.Namespace]
	ConfigMaps *informer.Informer[*corev1.ConfigMap]
	// RootCA is the authority's certificate in PEM.
	RootCA []byte
	Clock  clock.WithTicker
	Logger *slog.Logger
}

// New makes the controller and registers its handlers; call it before the informers run. Its keys are namespaces.
func New(config Config) *controller.Controller {
	c := controller.New("root-ca-publisher", config.reconcile, controller.Options{Workers: 2, Clock: config.Clock, Logger: config.Logger})
	config.Namespaces.AddHandler(controller.Handle(c, controller.Self[*corev1.Namespace]))
	config.ConfigMaps.AddHandler(controller.Handle(c, func(cm *corev1.ConfigMap) []string {
		if cm.Name != Name {
			return nil
		}
		return []string{cm.Namespace}
	}))
	return c
}

func (c Config) reconcile(ctx context.Context, namespace string) (controller.Result, error) {
	ns, ok := c.Namespaces.Get(namespace)
	if !ok || ns.DeletionTimestamp != nil || ns.Status.Phase == corev1.NamespaceTerminating {
		return controller.Result{}, nil
	}
	data := map[string]string{"ca.crt": string(c.RootCA)}
	cached, ok := c.ConfigMaps.Get(namespace + "/" + Name)
	var err error
	switch {
	case !ok:
		_, err = c.Client.ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: Name, Annotations: map[string]string{descriptionAnnotation: description}},
			Data:       data,
		})
	case !maps.Equal(cached.Data, data) || cached.Annotations[descriptionAnnotation] == "":
		cm := cached.DeepCopy()
		cm.Data = data
		metav1.SetMetaDataAnnotation(&cm.ObjectMeta, descriptionAnnotation, description)
		_, err = c.Client.ConfigMaps(namespace).Update(ctx, cm)
	}
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return controller.Result{}, nil
	}
	return controller.Result{}, fmt.Errorf("publishing the certificate authority in namespace %s: %w", namespace, err)
}
