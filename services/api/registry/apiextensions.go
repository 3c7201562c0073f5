package registry

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

func extensionKinds(o Options) []*Kind {
	return []*Kind{
		entry[*apiextensionsv1.CustomResourceDefinitionList]("apiextensions.k8s.io", "v1", "customresourcedefinitions",
			rules[*apiextensionsv1.CustomResourceDefinition]{Default: defaults.CustomResourceDefinition, HasGeneration: true}),
	}
}
