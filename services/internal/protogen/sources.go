package protogen

import (
	"fmt"
	"reflect"
	"sort"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// scheme knows every Go type that a group registers: where the search for messages starts.
var scheme = newScheme()

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	all := runtime.NewSchemeBuilder(
		admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, appsv1.AddToScheme,
		authenticationv1.AddToScheme, authorizationv1.AddToScheme, autoscalingv1.AddToScheme,
		autoscalingv2.AddToScheme, batchv1.AddToScheme, certificatesv1.AddToScheme, coordinationv1.AddToScheme,
		corev1.AddToScheme, discoveryv1.AddToScheme, eventsv1.AddToScheme, flowcontrolv1.AddToScheme,
		networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		resourcev1.AddToScheme, schedulingv1.AddToScheme, storagev1.AddToScheme,
	)
	utilruntime.Must(all.AddToScheme(s))
	return s
}

// metaRoots are the types of meta/v1 that clients meet without reaching them through a kind.
var metaRoots = []any{
	metav1.APIGroupList{}, metav1.APIResourceList{}, metav1.APIVersions{}, metav1.ApplyOptions{}, metav1.Condition{},
	metav1.CreateOptions{}, metav1.DeleteOptions{}, metav1.GetOptions{}, metav1.GroupVersionKind{},
	metav1.GroupVersionResource{}, metav1.LabelSelector{}, metav1.List{}, metav1.ListOptions{}, metav1.ObjectMeta{},
	metav1.PartialObjectMetadataList{}, metav1.PatchOptions{}, metav1.Status{}, metav1.TableOptions{}, metav1.TypeMeta{},
	metav1.UpdateOptions{}, metav1.WatchEvent{},
}

// metaPaths are Go packages whose few types join orrery.meta.v1.
var metaPaths = map[string]bool{
	"k8s.io/apimachinery/pkg/runtime":      true, // RawExtension
	"k8s.io/apimachinery/pkg/api/resource": true, // Quantity
	"k8s.io/apimachinery/pkg/util/intstr":  true, // IntOrString
}

var (
	timeType      = reflect.TypeFor[metav1.Time]()
	microTimeType = reflect.TypeFor[metav1.MicroTime]()
	typeMetaType  = reflect.TypeFor[metav1.TypeMeta]()
	quantityType  = reflect.TypeFor[resource.Quantity]()
	fieldsV1Type  = reflect.TypeFor[metav1.FieldsV1]()
)

// roots lists the Go types that the package must define, sorted by name.
func roots(p *pkg) ([]reflect.Type, error) {
	var out []reflect.Type
	if p.name == "meta" {
		for _, v := range metaRoots {
			out = append(out, reflect.TypeOf(v))
		}
	} else {
		for _, t := range scheme.KnownTypes(schema.GroupVersion{Group: p.group, Version: p.version}) {
			if t.PkgPath() == p.goPath { // the rest are meta/v1's, registered with every group
				out = append(out, t)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name() < out[j].Name() })
	for _, e := range p.kinds {
		gvk := schema.GroupVersionKind{Group: p.group, Version: p.version, Kind: e.Kind}
		if !scheme.Recognizes(gvk) {
			return nil, fmt.Errorf("table.go names %s, which %s does not register", gvk, p.goPath)
		}
	}
	return out, nil
}
