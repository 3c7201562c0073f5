package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func serviceKinds(o Options) []*Kind {
	services := o.Services
	if services == nil {
		services = noClaims{}
	}
	row := o.rows()
	return []*Kind{
		entry[*corev1.ServiceList]("", "v1", "services", rules[*corev1.Service]{
			Default:                  defaults.Service,
			Validate:                 validation.Service,
			ValidateUpdate:           validation.ServiceUpdate,
			PrepareCreate:            func(_ context.Context, s *corev1.Service) { newService(s) },
			PrepareUpdate:            func(_ context.Context, s, old *corev1.Service) { changedService(s, old) },
			Claim:                    services.Claim,
			Release:                  services.Release,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                apivalidation.NameIsDNSLabel,
			FieldNames:               []string{"spec.clusterIP", "spec.type"},
			Fields: func(s *corev1.Service) fields.Set {
				return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
			},
			Columns: tables.ServiceColumns,
			Row:     row.Service,
		}),
		entry[*corev1.EndpointsList]("", "v1", "endpoints", rules[*corev1.Endpoints]{
			Default:                  defaults.Endpoints,
			Validate:                 validation.Endpoints,
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			Columns:                  tables.EndpointsColumns,
			Row:                      row.Endpoints,
		}),
	}
}

// noClaims leaves services as they are.
type noClaims struct{}

func (noClaims) Claim(context.Context, *corev1.Service, *corev1.Service) (func(), error) {
	return func() {}, nil
}

func (noClaims) Release(context.Context, *corev1.Service, *corev1.Service) {}
