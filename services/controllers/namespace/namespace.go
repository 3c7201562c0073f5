package namespace

// Watches: Namespaces.
// Writes: everything in a namespace that is being deleted (delete), Namespaces' status and spec.finalizers.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// recheck is how often what is left in a namespace is looked at.
const recheck = time.Second

// Config is what the controller needs.
type Config struct {
	Client     *apiclient.Client
	Namespaces *informer.Informer[*corev1.Namespace]
	Clock      clock.WithTicker
	Logger     *slog.Logger
}

// New makes the controller and registers its handlers; call it before the informers run.
func New(config Config) *controller.Controller {
	c := controller.New("namespace", config.reconcile, controller.Options{Workers: 5, Clock: config.Clock, Logger: config.Logger})
	config.Namespaces.AddHandler(controller.Handle(c, func(ns *corev1.Namespace) []string {
		if ns.DeletionTimestamp == nil {
			return nil
		}
		return []string{ns.Name}
	}))
	return c
}

func (c Config) reconcile(ctx context.Context, name string) (controller.Result, error) {
	if cached, ok := c.Namespaces.Get(name); !ok || cached.DeletionTimestamp == nil {
		return controller.Result{}, nil
	}
	// Everything in it is about to be deleted: look at the thing itself.
	ns, err := c.Client.Namespaces().Get(ctx, name)
	if apierrors.IsNotFound(err) {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading namespace %s: %w", name, err)
	}
	if ns.DeletionTimestamp == nil || !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return controller.Result{}, nil
	}
	found := c.empty(ctx, name)
	status := *ns.Status.DeepCopy()
	status.Phase = corev1.NamespaceTerminating
	found.conditions(&status, c.Clock.Now())
	if !equality.Semantic.DeepEqual(ns.Status, status) {
		ns.Status = status
		updated, err := c.Client.Namespaces().UpdateStatus(ctx, ns)
		if apierrors.IsNotFound(err) {
			return controller.Result{}, nil
		}
		if err != nil {
			return controller.Result{}, fmt.Errorf("updating the status of namespace %s: %w", name, err)
		}
		ns = updated
	}
	if err := found.err(); err != nil {
		return controller.Result{}, fmt.Errorf("emptying namespace %s: %w", name, err)
	}
	if len(found.remaining) > 0 {
		return controller.Result{After: recheck}, nil
	}
	ns.Spec.Finalizers = slices.DeleteFunc(ns.Spec.Finalizers, func(f corev1.FinalizerName) bool { return f == corev1.FinalizerKubernetes })
	if _, err := c.Client.Namespaces().Finalize(ctx, ns); err != nil && !apierrors.IsNotFound(err) {
		return controller.Result{}, fmt.Errorf("finalizing namespace %s: %w", name, err)
	}
	return controller.Result{}, nil
}
