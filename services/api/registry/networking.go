package registry

import networkingv1 "k8s.io/api/networking/v1"

func networkingKinds(o Options) []*Kind {
	const group = "networking.k8s.io"
	return []*Kind{
		entry[*networkingv1.IngressList](group, "v1", "ingresses", rules[*networkingv1.Ingress]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
		entry[*networkingv1.IngressClassList](group, "v1", "ingressclasses", rules[*networkingv1.IngressClass]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
		entry[*networkingv1.NetworkPolicyList](group, "v1", "networkpolicies", rules[*networkingv1.NetworkPolicy]{
			HasGeneration:            true,
			AllowUnconditionalUpdate: true,
		}),
		entry[*networkingv1.IPAddressList](group, "v1", "ipaddresses", rules[*networkingv1.IPAddress]{
			AllowUnconditionalUpdate: true,
		}),
		entry[*networkingv1.ServiceCIDRList](group, "v1", "servicecidrs", rules[*networkingv1.ServiceCIDR]{
			AllowUnconditionalUpdate: true,
		}),
	}
}
