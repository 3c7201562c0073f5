package registry

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

func networkingKinds(o Options) []*Kind {
	row := o.rows()
	const group = "networking.k8s.io"
	return []*Kind{
		entry[*networkingv1.IngressList](group, "v1", "ingresses", rules[*networkingv1.Ingress]{
			Validate:                 validation.Ingress,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.IngressColumns,
			Row:                      row.Ingress,
		}),
		entry[*networkingv1.IngressClassList](group, "v1", "ingressclasses", rules[*networkingv1.IngressClass]{
			Default:                  defaults.IngressClass,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.IngressClassColumns,
			Row:                      row.IngressClass,
		}),
		entry[*networkingv1.NetworkPolicyList](group, "v1", "networkpolicies", rules[*networkingv1.NetworkPolicy]{
			Default:                  defaults.NetworkPolicy,
			Validate:                 validation.NetworkPolicy,
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
			Columns:                  tables.NetworkPolicyColumns,
			Row:                      row.NetworkPolicy,
		}),
		entry[*networkingv1.IPAddressList](group, "v1", "ipaddresses", rules[*networkingv1.IPAddress]{
			AllowUnconditionalUpdate: true,
			Columns:                  tables.IPAddressColumns,
			Row:                      row.IPAddress,
		}),
		entry[*networkingv1.ServiceCIDRList](group, "v1", "servicecidrs", rules[*networkingv1.ServiceCIDR]{
			AllowUnconditionalUpdate: true,
			Columns:                  tables.ServiceCIDRColumns,
			Row:                      row.ServiceCIDR,
		}),
	}
}
