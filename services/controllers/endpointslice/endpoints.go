package endpointslice

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/controllers/owner"
)

const (
	endpointsManagedByLabel = "endpoints.kubernetes.io/managed-by"
	endpointsManagedBy      = "endpoint-controller"
	// maxAddresses bounds one Endpoints object; beyond it readers must use EndpointSlices.
	maxAddresses = 1000
)

// syncEndpoints writes the Service's Endpoints, which readers of before EndpointSlices use.
func (e *endpointSlices) syncEndpoints(ctx context.Context, svc *corev1.Service, pods []*corev1.Pod) error {
	subsets, truncated := subsetsOf(svc, pods)
	labels := maps.Clone(svc.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[endpointsManagedByLabel] = endpointsManagedBy
	delete(labels, corev1.IsHeadlessService)
	if headless(svc) {
		labels[corev1.IsHeadlessService] = ""
	}
	want := &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Namespace: svc.Namespace, Name: svc.Name, Labels: labels}, Subsets: subsets}
	cached, ok := e.Endpoints.Get(svc.Namespace + "/" + svc.Name)
	if ok {
		_, over := cached.Annotations[corev1.EndpointsOverCapacity]
		if equality.Semantic.DeepEqual(cached.Subsets, subsets) && maps.Equal(cached.Labels, labels) && over == truncated {
			return nil
		}
		want = cached.DeepCopy()
		want.Labels, want.Subsets = labels, subsets
	}
	if t := triggerTime(svc, pods); !t.IsZero() {
		metav1.SetMetaDataAnnotation(&want.ObjectMeta, corev1.EndpointsLastChangeTriggerTime, t.UTC().Format(time.RFC3339Nano))
	}
	delete(want.Annotations, corev1.EndpointsOverCapacity)
	if truncated {
		metav1.SetMetaDataAnnotation(&want.ObjectMeta, corev1.EndpointsOverCapacity, "truncated")
	}
	var err error
	if ok {
		_, err = e.Client.Endpoints(svc.Namespace).Update(ctx, want)
	} else {
		_, err = e.Client.Endpoints(svc.Namespace).Create(ctx, want)
		if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
			// The cache is behind, and will wake us; or there is nothing left to do.
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("writing Endpoints %s/%s: %w", svc.Namespace, svc.Name, err)
	}
	return nil
}

// deleteEndpoints removes the Endpoints of a Service that is gone.
func (e *endpointSlices) deleteEndpoints(ctx context.Context, key string) error {
	ep, ok := e.Endpoints.Get(key)
	if !ok || ep.Labels[endpointsManagedByLabel] != endpointsManagedBy {
		return nil
	}
	err := e.Client.Endpoints(ep.Namespace).Delete(ctx, ep.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &ep.UID}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting Endpoints %s: %w", key, err)
	}
	return nil
}

// subsetsOf groups the pods' addresses by ports; pods that are being deleted are left out.
func subsetsOf(svc *corev1.Service, pods []*corev1.Pod) (subsets []corev1.EndpointSubset, truncated bool) {
	family := addressTypes(svc)[0]
	pods = slices.Clone(pods)
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var keys [][]discoveryv1.EndpointPort
	total := 0
	for _, pod := range pods {
		address := addressOf(pod, family)
		if address == "" || pod.DeletionTimestamp != nil {
			continue
		}
		if total++; total > maxAddresses {
			return subsets, true
		}
		ports := portsOf(svc, pod)
		if len(ports) == 0 && len(svc.Spec.Ports) > 0 {
			// None of the ports is this pod's.
			continue
		}
		at := slices.IndexFunc(keys, func(k []discoveryv1.EndpointPort) bool { return samePorts(k, ports) })
		if at < 0 {
			at = len(keys)
			keys = append(keys, ports)
			subsets = append(subsets, corev1.EndpointSubset{Ports: endpointPorts(ports)})
		}
		a := corev1.EndpointAddress{IP: address, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}}
		if pod.Spec.NodeName != "" {
			a.NodeName = ptr.To(pod.Spec.NodeName)
		}
		if hasHostname(svc, pod) {
			a.Hostname = pod.Spec.Hostname
		}
		if svc.Spec.PublishNotReadyAddresses || owner.Ready(pod) {
			subsets[at].Addresses = append(subsets[at].Addresses, a)
		} else {
			subsets[at].NotReadyAddresses = append(subsets[at].NotReadyAddresses, a)
		}
	}
	return subsets, false
}

func endpointPorts(ports []discoveryv1.EndpointPort) []corev1.EndpointPort {
	var out []corev1.EndpointPort
	for _, p := range ports {
		out = append(out, corev1.EndpointPort{Name: *p.Name, Port: *p.Port, Protocol: *p.Protocol, AppProtocol: p.AppProtocol})
	}
	return out
}
