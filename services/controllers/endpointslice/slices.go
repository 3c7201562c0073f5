package endpointslice

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// plan is what has to be written.
type plan struct {
	create, update, remove []*discoveryv1.EndpointSlice
}

// fit distributes the groups over the existing slices and new ones. A Service without endpoints keeps one empty slice per address family, which
// says that somebody has looked.
func fit(svc *corev1.Service, groups []group, existing []*discoveryv1.EndpointSlice, trigger time.Time) plan {
	for _, family := range addressTypes(svc) {
		if !slices.ContainsFunc(groups, func(g group) bool { return g.addressType == family }) {
			groups = append(groups, group{addressType: family})
		}
	}
	existing = slices.Clone(existing)
	slices.SortFunc(existing, func(a, b *discoveryv1.EndpointSlice) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	existing = slices.DeleteFunc(existing, func(s *discoveryv1.EndpointSlice) bool { return s.DeletionTimestamp != nil })
	var p plan
	claimed := map[types.UID]bool{}
	for _, g := range groups {
		var of []*discoveryv1.EndpointSlice
		for _, s := range existing {
			if !claimed[s.UID] && s.AddressType == g.addressType && samePorts(s.Ports, g.ports) && ownedBy(s, svc) {
				claimed[s.UID] = true
				of = append(of, s)
			}
		}
		p.fitGroup(svc, g, of, trigger)
	}
	for _, s := range existing {
		if !claimed[s.UID] {
			p.remove = append(p.remove, s)
		}
	}
	return p
}

func ownedBy(s *discoveryv1.EndpointSlice, svc *corev1.Service) bool {
	return slices.ContainsFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == svc.UID })
}

func (p *plan) fitGroup(svc *corev1.Service, g group, existing []*discoveryv1.EndpointSlice, trigger time.Time) {
	waiting := map[types.UID]discoveryv1.Endpoint{}
	for _, ep := range g.endpoints {
		waiting[ep.TargetRef.UID] = ep
	}
	// What is in a slice stays there.
	contents := make([][]discoveryv1.Endpoint, len(existing))
	for i, s := range existing {
		for _, ep := range s.Endpoints {
			if ep.TargetRef == nil || len(contents[i]) == maxEndpoints {
				continue
			}
			if now, ok := waiting[ep.TargetRef.UID]; ok {
				contents[i] = append(contents[i], now)
				delete(waiting, ep.TargetRef.UID)
			}
		}
	}
	// What is new fills the room that is left, the fullest slice first, then new slices.
	var fresh []discoveryv1.Endpoint
	for _, ep := range g.endpoints {
		if _, ok := waiting[ep.TargetRef.UID]; ok {
			fresh = append(fresh, ep)
		}
	}
	order := make([]int, len(existing))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(contents[b]), len(contents[a])) })
	for _, i := range order {
		n := min(len(fresh), maxEndpoints-len(contents[i]))
		contents[i], fresh = append(contents[i], fresh[:n]...), fresh[n:]
	}
	kept := 0
	for i, s := range existing {
		// An empty slice goes, unless it is the last of its kind.
		if len(contents[i]) == 0 && (len(g.endpoints) > 0 || kept > 0) {
			p.remove = append(p.remove, s)
			continue
		}
		kept++
		want := s.DeepCopy()
		want.Labels = labelsOf(svc)
		want.Endpoints = contents[i]
		if want.Endpoints == nil {
			want.Endpoints = []discoveryv1.Endpoint{}
		}
		if equality.Semantic.DeepEqual(s.Endpoints, want.Endpoints) && maps.Equal(s.Labels, want.Labels) {
			continue
		}
		annotateTrigger(want, trigger)
		p.update = append(p.update, want)
	}
	for len(fresh) > 0 || kept == 0 {
		n := min(len(fresh), maxEndpoints)
		s := newSlice(svc, g)
		s.Endpoints, fresh = append(s.Endpoints, fresh[:n]...), fresh[n:]
		annotateTrigger(s, trigger)
		p.create = append(p.create, s)
		kept++
	}
}

func newSlice(svc *corev1.Service, g group) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: svc.Name + "-", Namespace: svc.Namespace, Labels: labelsOf(svc),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(svc, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: g.addressType, Ports: g.ports, Endpoints: []discoveryv1.Endpoint{},
	}
}

func labelsOf(svc *corev1.Service) map[string]string {
	l := maps.Clone(svc.Labels)
	if l == nil {
		l = map[string]string{}
	}
	delete(l, corev1.IsHeadlessService)
	l[discoveryv1.LabelServiceName], l[discoveryv1.LabelManagedBy] = svc.Name, managedBy
	if headless(svc) {
		l[corev1.IsHeadlessService] = ""
	}
	return l
}

func headless(svc *corev1.Service) bool {
	return svc.Spec.ClusterIP == corev1.ClusterIPNone
}

func annotateTrigger(obj metav1.Object, trigger time.Time) {
	if trigger.IsZero() {
		return
	}
	a := maps.Clone(obj.GetAnnotations())
	if a == nil {
		a = map[string]string{}
	}
	a[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	obj.SetAnnotations(a)
}
