package deployment

// Watches: Deployments, ReplicaSets, Pods.
// Writes: ReplicaSets (create, spec.replicas, annotations, delete, ownerReferences), Deployments' status and revision annotation, Events.

import (
	"context"
	"log/slog"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/controllers/owner"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/events"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Component is the name under which the controller records events.
const Component = "deployment-controller"

var kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Config is what the controller needs. ReplicaSets and Pods must have the index owner.ByController.
type Config struct {
	Client      *apiclient.Client
	Deployments *informer.Informer[*appsv1.Deployment]
	ReplicaSets *informer.Informer[*appsv1.ReplicaSet]
	Pods        *informer.Informer[*corev1.Pod]
	Events      *events.Recorder
	Clock       clock.WithTicker
	Logger      *slog.Logger
}

type deployments struct{ Config }

// New makes the controller and registers its handlers; call it before the informers run.
func New(config Config) *controller.Controller {
	d := &deployments{config}
	c := controller.New("deployment", d.reconcile, controller.Options{Workers: 5, Clock: config.Clock, Logger: config.Logger})
	config.Deployments.AddHandler(controller.Handle(c, controller.Self[*appsv1.Deployment]))
	config.ReplicaSets.AddHandler(controller.Handle(c, d.ofReplicaSet))
	// Recreate waits for the last old pod to go; nothing else depends on pods directly.
	config.Pods.AddHandler(informer.Handler[*corev1.Pod]{Delete: func(pod *corev1.Pod, cause informer.Cause) {
		for _, rs := range d.replicaSetOf(pod) {
			for _, key := range d.ofReplicaSet(rs) {
				if dep, ok := d.Deployments.Get(key); ok && dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
					c.Enqueue(key, cause)
				}
			}
		}
	}})
	return c
}

// ofReplicaSet is the Deployment that owns the ReplicaSet, or all that might adopt it.
func (d *deployments) ofReplicaSet(rs *appsv1.ReplicaSet) []string {
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		if ref.Kind != kind.Kind || ref.APIVersion != kind.GroupVersion().String() {
			return nil
		}
		return []string{rs.Namespace + "/" + ref.Name}
	}
	if rs.DeletionTimestamp != nil || len(rs.Labels) == 0 {
		return nil
	}
	var keys []string
	for _, dep := range d.Deployments.ByIndex(informer.ByNamespace, rs.Namespace) {
		if s, err := metav1.LabelSelectorAsSelector(dep.Spec.Selector); err == nil && !s.Empty() && s.Matches(labels.Set(rs.Labels)) {
			keys = append(keys, informer.Key(dep))
		}
	}
	return keys
}

func (d *deployments) replicaSetOf(pod *corev1.Pod) []*appsv1.ReplicaSet {
	ref := metav1.GetControllerOfNoCopy(pod)
	if ref == nil || ref.Kind != "ReplicaSet" {
		return nil
	}
	rs, ok := d.ReplicaSets.Get(pod.Namespace + "/" + ref.Name)
	if !ok || rs.UID != ref.UID {
		return nil
	}
	return []*appsv1.ReplicaSet{rs}
}

func (d *deployments) reconcile(ctx context.Context, key string) (controller.Result, error) {
	cached, ok := d.Deployments.Get(key)
	if !ok {
		return controller.Result{}, nil
	}
	dep := cached.DeepCopy()
	selector, err := metav1.LabelSelectorAsSelector(dep.Spec.Selector)
	if err != nil {
		d.Logger.Error("Deployment with an unusable selector", "key", key, "error", err)
		return controller.Result{}, nil
	}
	if selector.Empty() {
		d.Events.Event(ctx, dep, corev1.EventTypeWarning, "SelectingAll", "This deployment is selecting all pods. A non-empty selector is required.")
		if dep.Status.ObservedGeneration < dep.Generation {
			dep.Status.ObservedGeneration = dep.Generation
			_, err = d.Client.Deployments(dep.Namespace).UpdateStatus(ctx, dep)
		}
		return controller.Result{}, err
	}
	sets, err := d.claim(ctx, dep, selector)
	if err != nil {
		return controller.Result{}, err
	}
	r := &rollout{deployments: d, dep: dep, stored: cached.Status, all: sets, now: d.Clock.Now()}
	if dep.DeletionTimestamp != nil {
		if err := r.findRevisions(ctx, false); err != nil {
			return controller.Result{}, err
		}
		return controller.Result{}, r.syncStatus(ctx)
	}
	if err := r.notePause(ctx); err != nil {
		return controller.Result{}, err
	}
	switch {
	case dep.Spec.Paused || r.resized():
		err = r.resize(ctx)
	case dep.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		err = r.recreate(ctx)
	default:
		err = r.roll(ctx)
	}
	if apierrors.IsNotFound(err) {
		// The Deployment or one of its ReplicaSets is gone, and the event that says so on its way.
		return controller.Result{}, nil
	}
	return controller.Result{After: r.after}, err
}

func (d *deployments) claim(ctx context.Context, dep *appsv1.Deployment, selector labels.Selector) ([]*appsv1.ReplicaSet, error) {
	sets, err := owner.Claim[*appsv1.ReplicaSet]{
		Owner: dep, Kind: kind, Selector: selector,
		Live: func(ctx context.Context) (metav1.Object, error) {
			return d.Client.Deployments(dep.Namespace).Get(ctx, dep.Name)
		},
		Patch: func(ctx context.Context, rs *appsv1.ReplicaSet, patch []byte) error {
			_, err := d.Client.ReplicaSets(rs.Namespace).Patch(ctx, rs.Name, types.StrategicMergePatchType, patch, "")
			return err
		},
	}.Objects(ctx, owner.Candidates(d.ReplicaSets, dep))
	slices.SortFunc(sets, byCreation)
	return sets, err
}
