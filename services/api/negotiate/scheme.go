package negotiate

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/orrery-io/orrery/services/api/registry"
)

// NewScheme knows the types of kinds, those that only subresources exchange, and the options of every group version.
func NewScheme(kinds []*registry.Kind) *runtime.Scheme {
	s := runtime.NewScheme()
	versions := map[schema.GroupVersion]bool{}
	for _, k := range kinds {
		gv := schema.GroupVersion{Group: k.Group, Version: k.Version}
		s.AddKnownTypeWithName(gv.WithKind(k.Kind.Kind), k.New())
		if !versions[gv] {
			versions[gv] = true
			metav1.AddToGroupVersion(s, gv)
		}
	}
	// A type is one kind: those of subresources are added where no entry has them already.
	for _, sub := range []struct {
		gvk schema.GroupVersionKind
		obj runtime.Object
	}{
		{autoscalingv1.SchemeGroupVersion.WithKind("Scale"), &autoscalingv1.Scale{}},
		{policyv1.SchemeGroupVersion.WithKind("Eviction"), &policyv1.Eviction{}},
		{authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), &authenticationv1.TokenRequest{}},
		{corev1.SchemeGroupVersion.WithKind("Binding"), &corev1.Binding{}},
	} {
		if !s.Recognizes(sub.gvk) {
			s.AddKnownTypeWithName(sub.gvk, sub.obj)
		}
	}
	metav1.AddToGroupVersion(s, metav1.SchemeGroupVersion)
	return s
}
