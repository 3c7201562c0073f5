package registry

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
)

func admissionKinds(o Options) []*Kind {
	const group = "admissionregistration.k8s.io"
	return []*Kind{
		entry[*admissionv1.ValidatingWebhookConfigurationList](group, "v1", "validatingwebhookconfigurations",
			rules[*admissionv1.ValidatingWebhookConfiguration]{Default: defaults.ValidatingWebhookConfiguration, HasGeneration: true}),
		entry[*admissionv1.MutatingWebhookConfigurationList](group, "v1", "mutatingwebhookconfigurations",
			rules[*admissionv1.MutatingWebhookConfiguration]{Default: defaults.MutatingWebhookConfiguration, HasGeneration: true}),
		entry[*admissionv1.ValidatingAdmissionPolicyList](group, "v1", "validatingadmissionpolicies",
			rules[*admissionv1.ValidatingAdmissionPolicy]{Default: defaults.ValidatingAdmissionPolicy, HasGeneration: true}),
		entry[*admissionv1.ValidatingAdmissionPolicyBindingList](group, "v1", "validatingadmissionpolicybindings",
			rules[*admissionv1.ValidatingAdmissionPolicyBinding]{Default: defaults.ValidatingAdmissionPolicyBinding, HasGeneration: true}),
		entry[*admissionv1.MutatingAdmissionPolicyList](group, "v1", "mutatingadmissionpolicies",
			rules[*admissionv1.MutatingAdmissionPolicy]{Default: defaults.MutatingAdmissionPolicy, HasGeneration: true}),
		entry[*admissionv1.MutatingAdmissionPolicyBindingList](group, "v1", "mutatingadmissionpolicybindings",
			rules[*admissionv1.MutatingAdmissionPolicyBinding]{Default: defaults.MutatingAdmissionPolicyBinding, HasGeneration: true}),
	}
}
