package apiclient

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Names for the typed clients.
type (
	Deployments       = Resource[*appsv1.Deployment, *appsv1.DeploymentList]
	ReplicaSets       = Resource[*appsv1.ReplicaSet, *appsv1.ReplicaSetList]
	DaemonSets        = Resource[*appsv1.DaemonSet, *appsv1.DaemonSetList]
	StatefulSets      = Resource[*appsv1.StatefulSet, *appsv1.StatefulSetList]
	Jobs              = Resource[*batchv1.Job, *batchv1.JobList]
	Nodes             = Resource[*corev1.Node, *corev1.NodeList]
	Services          = Resource[*corev1.Service, *corev1.ServiceList]
	Endpoints         = Resource[*corev1.Endpoints, *corev1.EndpointsList]
	EndpointSlices    = Resource[*discoveryv1.EndpointSlice, *discoveryv1.EndpointSliceList]
	ConfigMaps        = Resource[*corev1.ConfigMap, *corev1.ConfigMapList]
	Secrets           = Resource[*corev1.Secret, *corev1.SecretList]
	ServiceAccounts   = Resource[*corev1.ServiceAccount, *corev1.ServiceAccountList]
	Events            = Resource[*corev1.Event, *corev1.EventList]
	Leases            = Resource[*coordinationv1.Lease, *coordinationv1.LeaseList]
	PVCs              = Resource[*corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaimList]
	PVs               = Resource[*corev1.PersistentVolume, *corev1.PersistentVolumeList]
	PriorityClasses   = Resource[*schedulingv1.PriorityClass, *schedulingv1.PriorityClassList]
	PDBs              = Resource[*policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudgetList]
	StorageClasses    = Resource[*storagev1.StorageClass, *storagev1.StorageClassList]
	ClusterRoles      = Resource[*rbacv1.ClusterRole, *rbacv1.ClusterRoleList]
	ControllerHistory = Resource[*appsv1.ControllerRevision, *appsv1.ControllerRevisionList]
)

// Pods is the client of pods with their subresources.
type Pods struct {
	Resource[*corev1.Pod, *corev1.PodList]
}

// Namespaces is the client of namespaces with finalize.
type Namespaces struct {
	Resource[*corev1.Namespace, *corev1.NamespaceList]
}

// Pods is the typed client of a kind; so are the methods below.
func (c *Client) Pods(namespace string) Pods {
	return Pods{resource[corev1.Pod, corev1.PodList](c, "", "pods", namespace)}
}

func (c *Client) Namespaces() Namespaces {
	return Namespaces{resource[corev1.Namespace, corev1.NamespaceList](c, "", "namespaces", "")}
}

func (c *Client) Deployments(namespace string) Deployments {
	return resource[appsv1.Deployment, appsv1.DeploymentList](c, "apps", "deployments", namespace)
}

func (c *Client) ReplicaSets(namespace string) ReplicaSets {
	return resource[appsv1.ReplicaSet, appsv1.ReplicaSetList](c, "apps", "replicasets", namespace)
}

func (c *Client) DaemonSets(namespace string) DaemonSets {
	return resource[appsv1.DaemonSet, appsv1.DaemonSetList](c, "apps", "daemonsets", namespace)
}

func (c *Client) StatefulSets(namespace string) StatefulSets {
	return resource[appsv1.StatefulSet, appsv1.StatefulSetList](c, "apps", "statefulsets", namespace)
}

func (c *Client) ControllerRevisions(namespace string) ControllerHistory {
	return resource[appsv1.ControllerRevision, appsv1.ControllerRevisionList](c, "apps", "controllerrevisions", namespace)
}

func (c *Client) Jobs(namespace string) Jobs {
	return resource[batchv1.Job, batchv1.JobList](c, "batch", "jobs", namespace)
}

func (c *Client) Nodes() Nodes {
	return resource[corev1.Node, corev1.NodeList](c, "", "nodes", "")
}

func (c *Client) Services(namespace string) Services {
	return resource[corev1.Service, corev1.ServiceList](c, "", "services", namespace)
}

func (c *Client) Endpoints(namespace string) Endpoints {
	return resource[corev1.Endpoints, corev1.EndpointsList](c, "", "endpoints", namespace)
}

func (c *Client) EndpointSlices(namespace string) EndpointSlices {
	return resource[discoveryv1.EndpointSlice, discoveryv1.EndpointSliceList](c, "discovery.k8s.io", "endpointslices", namespace)
}

func (c *Client) ConfigMaps(namespace string) ConfigMaps {
	return resource[corev1.ConfigMap, corev1.ConfigMapList](c, "", "configmaps", namespace)
}

func (c *Client) Secrets(namespace string) Secrets {
	return resource[corev1.Secret, corev1.SecretList](c, "", "secrets", namespace)
}

func (c *Client) ServiceAccounts(namespace string) ServiceAccounts {
	return resource[corev1.ServiceAccount, corev1.ServiceAccountList](c, "", "serviceaccounts", namespace)
}

func (c *Client) Events(namespace string) Events {
	return resource[corev1.Event, corev1.EventList](c, "", "events", namespace)
}

func (c *Client) Leases(namespace string) Leases {
	return resource[coordinationv1.Lease, coordinationv1.LeaseList](c, "coordination.k8s.io", "leases", namespace)
}

func (c *Client) PersistentVolumeClaims(namespace string) PVCs {
	return resource[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](c, "", "persistentvolumeclaims", namespace)
}

func (c *Client) PersistentVolumes() PVs {
	return resource[corev1.PersistentVolume, corev1.PersistentVolumeList](c, "", "persistentvolumes", "")
}

func (c *Client) PriorityClasses() PriorityClasses {
	return resource[schedulingv1.PriorityClass, schedulingv1.PriorityClassList](c, "scheduling.k8s.io", "priorityclasses", "")
}

func (c *Client) PodDisruptionBudgets(namespace string) PDBs {
	return resource[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList](c, "policy", "poddisruptionbudgets", namespace)
}

func (c *Client) StorageClasses() StorageClasses {
	return resource[storagev1.StorageClass, storagev1.StorageClassList](c, "storage.k8s.io", "storageclasses", "")
}

func (c *Client) ClusterRoles() ClusterRoles {
	return resource[rbacv1.ClusterRole, rbacv1.ClusterRoleList](c, "rbac.authorization.k8s.io", "clusterroles", "")
}

// Bind assigns the pod named by the binding to a node: 409 Conflict when it has one.
func (p Pods) Bind(ctx context.Context, binding *corev1.Binding) error {
	return p.post(ctx, "Bind", binding.Namespace, binding.Name, binding)
}

// Evict deletes a pod unless a PodDisruptionBudget forbids it (429 TooManyRequests).
func (p Pods) Evict(ctx context.Context, eviction *policyv1.Eviction) error {
	return p.post(ctx, "Evict", eviction.Namespace, eviction.Name, eviction)
}

func (p Pods) post(ctx context.Context, method, namespace, name string, body interface{ Marshal() ([]byte, error) }) error {
	data, err := body.Marshal()
	if err != nil {
		return fmt.Errorf("encoding %T: %w", body, err)
	}
	return apistatus.FromGRPC(p.conn.Invoke(ctx, p.path(method), &wire.CreateRequest{Namespace: namespace, Name: name, Object: data}, &wire.Body{}))
}

// Finalize replaces the namespace's spec.finalizers.
func (n Namespaces) Finalize(ctx context.Context, namespace *corev1.Namespace) (*corev1.Namespace, error) {
	return n.update(ctx, "Finalize", namespace)
}

// GetScale reads the scale subresource.
func (r Resource[T, L]) GetScale(ctx context.Context, name string) (*autoscalingv1.Scale, error) {
	out := &autoscalingv1.Scale{}
	err := r.conn.Invoke(ctx, r.path("GetScale"), &wire.GetRequest{Namespace: r.namespace, Name: name}, out)
	return out, apistatus.FromGRPC(err)
}
