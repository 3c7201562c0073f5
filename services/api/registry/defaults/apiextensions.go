package defaults

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// CustomResourceDefinition completes the names and the conversion of a definition.
func CustomResourceDefinition(crd *apiextensionsv1.CustomResourceDefinition) {
	if kind := crd.Spec.Names.Kind; kind != "" {
		set(&crd.Spec.Names.Singular, strings.ToLower(kind))
		set(&crd.Spec.Names.ListKind, kind+"List")
	}
	setPointer(&crd.Spec.Conversion, apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter})
	if w := crd.Spec.Conversion.Webhook; w != nil && w.ClientConfig != nil && w.ClientConfig.Service != nil {
		setPointer(&w.ClientConfig.Service.Port, 443)
	}
}
