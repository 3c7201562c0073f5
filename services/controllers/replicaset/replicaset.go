package replicaset

// Watches: ReplicaSets, Pods.
// Writes: Pods (create, delete, ownerReferences), ReplicaSets' status, Events.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/controllers/owner"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/events"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Component is the name under which the controller records events.
const Component = "replicaset-controller"

const (
	// burst bounds the pods created or deleted in one reconcile.
	burst = 500
	// recheck is how often a reconcile that waits for the cache looks again, besides at every change.
	recheck = time.Second
)

var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// Config is what the controller needs. Pods must have the index owner.ByController.
type Config struct {
	Client      *apiclient.Client
	ReplicaSets *informer.Informer[*appsv1.ReplicaSet]
	Pods        *informer.Informer[*corev1.Pod]
	Events      *events.Recorder
	Clock       clock.WithTicker
	Logger      *slog.Logger
}

type replicaSets struct {
	Config
	expect expectations
}

// New makes the controller and registers its handlers; call it before the informers run.
func New(config Config) *controller.Controller {
	r := &replicaSets{Config: config}
	c := controller.New("replicaset", r.reconcile, controller.Options{Workers: 5, Clock: config.Clock, Logger: config.Logger})
	config.ReplicaSets.AddHandler(controller.Handle(c, controller.Self[*appsv1.ReplicaSet]))
	config.Pods.AddHandler(controller.Handle(c, r.ofPod))
	return c
}

// ofPod is the ReplicaSet that owns the pod, or all that might adopt it.
func (r *replicaSets) ofPod(pod *corev1.Pod) []string {
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		if ref.Kind != kind.Kind || ref.APIVersion != kind.GroupVersion().String() {
			return nil
		}
		return []string{pod.Namespace + "/" + ref.Name}
	}
	if pod.DeletionTimestamp != nil || len(pod.Labels) == 0 {
		return nil
	}
	var keys []string
	for _, rs := range r.ReplicaSets.ByIndex(informer.ByNamespace, pod.Namespace) {
		if s, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector); err == nil && !s.Empty() && s.Matches(labels.Set(pod.Labels)) {
			keys = append(keys, informer.Key(rs))
		}
	}
	return keys
}

func (r *replicaSets) reconcile(ctx context.Context, key string) (controller.Result, error) {
	rs, ok := r.ReplicaSets.Get(key)
	if !ok {
		r.expect.forget(key)
		return controller.Result{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil || selector.Empty() {
		// Validation lets neither through; nothing can be counted.
		r.Logger.Error("ReplicaSet with an unusable selector", "key", key, "error", err)
		return controller.Result{}, nil
	}
	// Asked before the pods are read: what the cache shows now, it still shows then.
	current := r.expect.satisfied(key, r.Pods)
	candidates := owner.Candidates(r.Pods, rs)
	pods, err := r.claim(ctx, rs, selector, slices.DeleteFunc(slices.Clone(candidates), func(p *corev1.Pod) bool { return !owner.Active(p) }))
	if err != nil {
		return controller.Result{}, err
	}
	var result controller.Result
	var manageErr error
	switch {
	case rs.DeletionTimestamp != nil:
	case current:
		manageErr = r.manage(ctx, key, rs, selector, pods)
	default:
		result.After = recheck
	}
	terminating := int32(0)
	for _, p := range candidates {
		if metav1.IsControlledBy(p, rs) && owner.Terminating(p) {
			terminating++
		}
	}
	now := r.Clock.Now()
	status, next := statusOf(rs, pods, terminating, manageErr, now)
	if next > 0 && (result.After == 0 || next < result.After) {
		result.After = next
	}
	return result, errors.Join(manageErr, r.updateStatus(ctx, rs, status))
}

func (r *replicaSets) claim(ctx context.Context, rs *appsv1.ReplicaSet, selector labels.Selector, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	return owner.Claim[*corev1.Pod]{
		Owner: rs, Kind: kind, Selector: selector,
		Live: func(ctx context.Context) (metav1.Object, error) {
			return r.Client.ReplicaSets(rs.Namespace).Get(ctx, rs.Name)
		},
		Patch: func(ctx context.Context, pod *corev1.Pod, patch []byte) error {
			_, err := r.Client.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, "")
			return err
		},
	}.Objects(ctx, pods)
}

// manage creates or deletes pods until there are spec.replicas.
func (r *replicaSets) manage(ctx context.Context, key string, rs *appsv1.ReplicaSet, selector labels.Selector, pods []*corev1.Pod) error {
	if r.expect.uncertain(key) {
		live, err := r.live(ctx, key, rs, selector)
		if err != nil {
			return err
		}
		pods = live
	}
	diff := len(pods) - int(ptr.Deref(rs.Spec.Replicas, 1))
	if diff < 0 {
		return r.create(ctx, key, rs, min(-diff, burst))
	}
	if diff > 0 {
		return r.delete(ctx, key, rs, pods, min(diff, burst))
	}
	return nil
}

// live counts by the api itself, after a create of which nobody knows whether it happened.
func (r *replicaSets) live(ctx context.Context, key string, rs *appsv1.ReplicaSet, selector labels.Selector) ([]*corev1.Pod, error) {
	all, _, err := r.Client.Pods(rs.Namespace).ListAll(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of ReplicaSet %s: %w", key, err)
	}
	var pods []*corev1.Pod
	for _, p := range all {
		if metav1.IsControlledBy(p, rs) {
			r.expect.created(key, p)
			if owner.Active(p) {
				pods = append(pods, p)
			}
		}
	}
	r.expect.certain(key)
	return pods, nil
}

// create makes n pods in batches of 1, 2, 4 and so on: when creation fails (quota, admission), it does so once and not n times.
func (r *replicaSets) create(ctx context.Context, key string, rs *appsv1.ReplicaSet, n int) error {
	for batch := 1; n > 0; batch *= 2 {
		size := min(batch, n)
		errs := make([]error, size)
		var wg sync.WaitGroup
		for i := range size {
			wg.Go(func() { errs[i] = r.createOne(ctx, key, rs) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return firstOf(errs)
		}
		n -= size
	}
	return nil
}

func (r *replicaSets) createOne(ctx context.Context, key string, rs *appsv1.ReplicaSet) error {
	t := rs.Spec.Template
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: rs.Name + "-", Namespace: rs.Namespace,
			Labels: maps.Clone(t.Labels), Annotations: maps.Clone(t.Annotations), Finalizers: slices.Clone(t.Finalizers),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs, kind)},
		},
		Spec: *t.Spec.DeepCopy(),
	}
	created, err := r.Client.Pods(rs.Namespace).Create(ctx, pod)
	switch {
	case err == nil:
		r.expect.created(key, created)
		r.Events.Event(ctx, rs, corev1.EventTypeNormal, "SuccessfulCreate", "Created pod: %v", created.Name)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// The ReplicaSet is about to go as well.
		return nil
	case ambiguous(err):
		r.expect.doubt(key)
	}
	r.Events.Event(ctx, rs, corev1.EventTypeWarning, "FailedCreate", "Error creating: %v", err)
	return err
}

func (r *replicaSets) delete(ctx context.Context, key string, rs *appsv1.ReplicaSet, pods []*corev1.Pod, n int) error {
	victims := toDelete(pods, r.related(rs), n, r.Clock.Now())
	errs := make([]error, len(victims))
	var wg sync.WaitGroup
	for i, pod := range victims {
		wg.Go(func() {
			err := r.Client.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}})
			switch {
			case err == nil:
				r.expect.deleted(key, pod)
				r.Events.Event(ctx, rs, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted pod: %v", pod.Name)
			case apierrors.IsNotFound(err):
				r.expect.deleted(key, pod)
			default:
				r.Events.Event(ctx, rs, corev1.EventTypeWarning, "FailedDelete", "Error deleting: %v", err)
				errs[i] = err
			}
		})
	}
	wg.Wait()
	return firstOf(errs)
}

// related are the active pods of all ReplicaSets of the same controller: of a Deployment's old and new ones.
func (r *replicaSets) related(rs *appsv1.ReplicaSet) []*corev1.Pod {
	siblings := []*appsv1.ReplicaSet{rs}
	if ref := metav1.GetControllerOfNoCopy(rs); ref != nil {
		siblings = r.ReplicaSets.ByIndex(owner.ByController, string(ref.UID))
	}
	var pods []*corev1.Pod
	for _, s := range siblings {
		pods = append(pods, r.Pods.ByIndex(owner.ByController, string(s.UID))...)
	}
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return !owner.Active(p) })
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ambiguous tells whether a create that failed with err may have happened all the same.
func ambiguous(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	return status.Status().Code >= 500
}
