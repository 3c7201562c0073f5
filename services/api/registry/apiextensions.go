package registry

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

func extensionKinds(o Options) []*Kind {
	return []*Kind{
		entry[*apiextensionsv1.CustomResourceDefinitionList]("apiextensions.k8s.io", "v1", "customresourcedefinitions",
			rules[*apiextensionsv1.CustomResourceDefinition]{
				Default:       defaults.CustomResourceDefinition,
				HasGeneration: true,
				PrepareCreate: func(_ context.Context, crd *apiextensionsv1.CustomResourceDefinition) { noteStoredVersions(crd) },
				PrepareUpdate: func(_ context.Context, crd, _ *apiextensionsv1.CustomResourceDefinition) { noteStoredVersions(crd) },
			}),
	}
}

// noteStoredVersions remembers every version that objects may be stored in.
func noteStoredVersions(crd *apiextensionsv1.CustomResourceDefinition) {
	for _, v := range crd.Spec.Versions {
		if v.Storage && !slices.Contains(crd.Status.StoredVersions, v.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, v.Name)
		}
	}
}
