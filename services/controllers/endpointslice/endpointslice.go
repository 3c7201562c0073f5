package endpointslice

// Watches: Services, Pods, Nodes (zones), EndpointSlices, Endpoints.
// Writes: EndpointSlices, Endpoints (create, update, delete), Events.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/events"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Component is the name under which the controller records events.
const Component = "endpoint-slice-controller"

const (
	// managedBy marks the slices that are ours.
	managedBy = "endpointslice-controller.k8s.io"
	// maxEndpoints bounds one slice.
	maxEndpoints = 100
	// recheck is how often a reconcile that waits for the cache looks again, besides at every change.
	recheck = time.Second
)

// ByService is the index of EndpointSlices by "namespace/service".
const ByService = "service"

// IndexByService is the function of the index ByService; slices of other makers are not in it.
func IndexByService(s *discoveryv1.EndpointSlice) []string {
	if s.Labels[discoveryv1.LabelManagedBy] != managedBy || s.Labels[discoveryv1.LabelServiceName] == "" {
		return nil
	}
	return []string{s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]}
}

// Config is what the controller needs. Slices must have the index ByService.
type Config struct {
	Client    *apiclient.Client
	Services  *informer.Informer[*corev1.Service]
	Pods      *informer.Informer[*corev1.Pod]
	Nodes     *informer.Informer[*corev1.Node]
	Slices    *informer.Informer[*discoveryv1.EndpointSlice]
	Endpoints *informer.Informer[*corev1.Endpoints]
	Events    *events.Recorder
	Clock     clock.WithTicker
	Logger    *slog.Logger
}

type endpointSlices struct {
	Config
	written controller.Written
}

// New makes the controller and registers its handlers; call it before the informers run. Its keys are Services.
func New(config Config) *controller.Controller {
	e := &endpointSlices{Config: config}
	c := controller.New("endpointslice", e.reconcile, controller.Options{Workers: 5, Clock: config.Clock, Logger: config.Logger})
	config.Services.AddHandler(controller.Handle(c, controller.Self[*corev1.Service]))
	config.Pods.AddHandler(controller.Handle(c, e.ofPod))
	config.Slices.AddHandler(controller.Handle(c, IndexByService))
	config.Endpoints.AddHandler(informer.Handler[*corev1.Endpoints]{
		// Ours to restore when somebody changes them; what we wrote ourselves is found to be right.
		Update: func(_, ep *corev1.Endpoints, cause informer.Cause) { c.Enqueue(informer.Key(ep), cause) },
		Delete: func(ep *corev1.Endpoints, cause informer.Cause) { c.Enqueue(informer.Key(ep), cause) },
	})
	return c
}

// ofPod are the Services that select the pod.
func (e *endpointSlices) ofPod(pod *corev1.Pod) []string {
	var keys []string
	for _, svc := range e.Services.ByIndex(informer.ByNamespace, pod.Namespace) {
		if managed(svc) && labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			keys = append(keys, informer.Key(svc))
		}
	}
	return keys
}

// managed tells whether the Service's endpoints follow from pods: without a selector they are the user's to write.
func managed(svc *corev1.Service) bool {
	return svc.Spec.Type != corev1.ServiceTypeExternalName && len(svc.Spec.Selector) > 0
}

func (e *endpointSlices) reconcile(ctx context.Context, key string) (controller.Result, error) {
	svc, ok := e.Services.Get(key)
	if !ok {
		// The slices have the Service as their owner and are collected; Endpoints have no owner.
		e.written.Forget(key)
		return controller.Result{}, e.deleteEndpoints(ctx, key)
	}
	if !managed(svc) || svc.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	if !e.written.Seen(key, e.Slices.Revision()) {
		return controller.Result{After: recheck}, nil
	}
	selector := labels.SelectorFromSet(svc.Spec.Selector)
	var pods []*corev1.Pod
	for _, pod := range e.Pods.ByIndex(informer.ByNamespace, svc.Namespace) {
		if selector.Matches(labels.Set(pod.Labels)) && addressable(pod) {
			pods = append(pods, pod)
		}
	}
	desired := e.desired(svc, pods)
	plan := fit(svc, desired, e.Slices.ByIndex(ByService, key), triggerTime(svc, pods))
	err := errors.Join(e.carryOut(ctx, key, plan), e.syncEndpoints(ctx, svc, pods))
	if err != nil && !apierrors.IsConflict(err) {
		e.Events.Event(ctx, svc, corev1.EventTypeWarning, "FailedToUpdateEndpointSlices", "Error updating Endpoint Slices for Service %s: %v", key, err)
	}
	return controller.Result{}, err
}

func (e *endpointSlices) carryOut(ctx context.Context, key string, p plan) error {
	for _, s := range p.create {
		created, err := e.Client.EndpointSlices(s.Namespace).Create(ctx, s)
		if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("creating an EndpointSlice of Service %s: %w", key, err)
		}
		e.written.Note(key, created.ResourceVersion)
	}
	for _, s := range p.update {
		updated, err := e.Client.EndpointSlices(s.Namespace).Update(ctx, s)
		if err != nil {
			return fmt.Errorf("updating EndpointSlice %s/%s: %w", s.Namespace, s.Name, err)
		}
		e.written.Note(key, updated.ResourceVersion)
	}
	for _, s := range p.remove {
		err := e.Client.EndpointSlices(s.Namespace).Delete(ctx, s.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s.UID}})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting EndpointSlice %s/%s: %w", s.Namespace, s.Name, err)
		}
	}
	return nil
}

// triggerTime is the newest of the times since which the endpoints may be as they are, for those who measure how long a change takes to arrive.
func triggerTime(svc *corev1.Service, pods []*corev1.Pod) time.Time {
	latest := svc.CreationTimestamp.Time
	for _, pod := range pods {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.LastTransitionTime.After(latest) {
				latest = c.LastTransitionTime.Time
			}
		}
	}
	return latest
}
