package controllers

import (
	"context"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/orrery-io/orrery/services/controllers/endpointslice"
	"github.com/orrery-io/orrery/services/controllers/nodelifecycle"
	"github.com/orrery-io/orrery/services/controllers/owner"
	"github.com/orrery-io/orrery/services/controllers/rootca"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// caches makes each informer when the first controller asks for it, so that only what is needed is watched, and that once.
type caches struct {
	client *apiclient.Client
	config Config
	byName map[string]running
}

type running interface {
	Run(ctx context.Context) error
	Synced() <-chan struct{}
}

func shared[T apiclient.Object](c *caches, name string, build func() *informer.Informer[T]) *informer.Informer[T] {
	if i, ok := c.byName[name]; ok {
		return i.(*informer.Informer[T])
	}
	i := build()
	c.byName[name] = i
	return i
}

func of[T apiclient.Object, L apiclient.List](c *caches, r apiclient.Resource[T, L], options informer.Options[T]) *informer.Informer[T] {
	return shared(c, r.Kind().Plural, func() *informer.Informer[T] {
		options.Clock, options.Logger = c.config.Clock, c.config.Logger
		if options.Transform == nil {
			options.Transform = dropManagedFields[T]
		}
		return informer.Of(r, options)
	})
}

// dropManagedFields saves the memory of what no controller reads. A write of an object without them leaves the stored ones alone.
func dropManagedFields[T apiclient.Object](obj T) { obj.SetManagedFields(nil) }

func (c *caches) pods() *informer.Informer[*corev1.Pod] {
	return of(c, c.client.Pods("").Resource, informer.Options[*corev1.Pod]{Indexes: map[string]informer.IndexFunc[*corev1.Pod]{
		owner.ByController:   owner.Index[*corev1.Pod],
		nodelifecycle.ByNode: nodelifecycle.IndexByNode,
	}})
}

func (c *caches) replicaSets() *informer.Informer[*appsv1.ReplicaSet] {
	return of(c, c.client.ReplicaSets(""), informer.Options[*appsv1.ReplicaSet]{Indexes: map[string]informer.IndexFunc[*appsv1.ReplicaSet]{
		owner.ByController: owner.Index[*appsv1.ReplicaSet],
	}})
}

func (c *caches) deployments() *informer.Informer[*appsv1.Deployment] {
	return of(c, c.client.Deployments(""), informer.Options[*appsv1.Deployment]{})
}

func (c *caches) namespaces() *informer.Informer[*corev1.Namespace] {
	return of(c, c.client.Namespaces().Resource, informer.Options[*corev1.Namespace]{})
}

func (c *caches) serviceAccounts() *informer.Informer[*corev1.ServiceAccount] {
	return of(c, c.client.ServiceAccounts(""), informer.Options[*corev1.ServiceAccount]{})
}

func (c *caches) nodes() *informer.Informer[*corev1.Node] {
	return of(c, c.client.Nodes(), informer.Options[*corev1.Node]{})
}

func (c *caches) services() *informer.Informer[*corev1.Service] {
	return of(c, c.client.Services(""), informer.Options[*corev1.Service]{})
}

func (c *caches) endpoints() *informer.Informer[*corev1.Endpoints] {
	return of(c, c.client.Endpoints(""), informer.Options[*corev1.Endpoints]{})
}

func (c *caches) endpointSlices() *informer.Informer[*discoveryv1.EndpointSlice] {
	return of(c, c.client.EndpointSlices(""), informer.Options[*discoveryv1.EndpointSlice]{Indexes: map[string]informer.IndexFunc[*discoveryv1.EndpointSlice]{
		endpointslice.ByService: endpointslice.IndexByService,
	}})
}

// rootCAs are the ConfigMaps of that name alone.
func (c *caches) rootCAs() *informer.Informer[*corev1.ConfigMap] {
	return of(c, c.client.ConfigMaps(""), informer.Options[*corev1.ConfigMap]{FieldSelector: "metadata.name=" + rootca.Name})
}

// nodeLeases are the heartbeats.
func (c *caches) nodeLeases() *informer.Informer[*coordinationv1.Lease] {
	return of(c, c.client.Leases(corev1.NamespaceNodeLease), informer.Options[*coordinationv1.Lease]{})
}

// run keeps all caches until ctx is over; ready is called when they are complete.
func (c *caches) run(ctx context.Context, ready func()) {
	var all sync.WaitGroup
	for _, i := range c.byName {
		all.Go(func() { _ = i.Run(ctx) })
	}
	complete := true
	for _, i := range c.byName {
		select {
		case <-i.Synced():
		case <-ctx.Done():
			complete = false
		}
	}
	if complete {
		ready()
	}
	all.Wait()
}
