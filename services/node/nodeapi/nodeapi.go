// Package nodeapi is what the node agent needs of the api, as one interface: what it reads, watches and writes.
package nodeapi

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// LeaseNamespace holds the nodes' heartbeats.
const LeaseNamespace = corev1.NamespaceNodeLease

// Interface is the agent's view of the api. Errors are *apierrors.StatusError, as from apiclient.
type Interface interface {
	Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error)
	// UpdatePodStatus replaces the pod's status; 409 Conflict when its resourceVersion is not the newest.
	UpdatePodStatus(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error)
	DeletePod(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error
	WatchPods(ctx context.Context, options metav1.ListOptions) (informer.Stream[*corev1.Pod], error)

	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)

	Node(ctx context.Context, name string) (*corev1.Node, error)
	CreateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	Lease(ctx context.Context, name string) (*coordinationv1.Lease, error)
	CreateLease(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	UpdateLease(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)

	CreateEvent(ctx context.Context, event *corev1.Event) (*corev1.Event, error)
	// PatchEvent merges a JSON patch into an event.
	PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error)
}

// client is the Interface on an apiclient.
type client struct{ api *apiclient.Client }

// New makes the Interface of an api client.
func New(api *apiclient.Client) Interface { return client{api} }

func (c client) Pod(ctx context.Context, namespace, name string) (*corev1.Pod, error) {
	return c.api.Pods(namespace).Get(ctx, name)
}

func (c client) UpdatePodStatus(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return c.api.Pods(pod.Namespace).UpdateStatus(ctx, pod)
}

func (c client) DeletePod(ctx context.Context, namespace, name string, options metav1.DeleteOptions) error {
	return c.api.Pods(namespace).Delete(ctx, name, options)
}

func (c client) WatchPods(ctx context.Context, options metav1.ListOptions) (informer.Stream[*corev1.Pod], error) {
	return informer.Watching(c.api.Pods("").Resource)(ctx, options)
}

func (c client) ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	return c.api.ConfigMaps(namespace).Get(ctx, name)
}

func (c client) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return c.api.Secrets(namespace).Get(ctx, name)
}

func (c client) Node(ctx context.Context, name string) (*corev1.Node, error) {
	return c.api.Nodes().Get(ctx, name)
}

func (c client) CreateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return c.api.Nodes().Create(ctx, node)
}

func (c client) UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return c.api.Nodes().Update(ctx, node)
}

func (c client) UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return c.api.Nodes().UpdateStatus(ctx, node)
}

func (c client) Lease(ctx context.Context, name string) (*coordinationv1.Lease, error) {
	return c.api.Leases(LeaseNamespace).Get(ctx, name)
}

func (c client) CreateLease(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.api.Leases(LeaseNamespace).Create(ctx, lease)
}

func (c client) UpdateLease(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	return c.api.Leases(LeaseNamespace).Update(ctx, lease)
}

func (c client) CreateEvent(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	return c.api.Events(event.Namespace).Create(ctx, event)
}

func (c client) PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error) {
	return c.api.Events(namespace).Patch(ctx, name, types.MergePatchType, patch, "")
}
