package registry

import admissionv1 "k8s.io/api/admissionregistration/v1"

func admissionKinds(o Options) []*Kind {
	const group = "admissionregistration.k8s.io"
	return []*Kind{
		entry[*admissionv1.ValidatingWebhookConfigurationList](group, "v1", "validatingwebhookconfigurations",
			rules[*admissionv1.ValidatingWebhookConfiguration]{HasGeneration: true}),
		entry[*admissionv1.MutatingWebhookConfigurationList](group, "v1", "mutatingwebhookconfigurations",
			rules[*admissionv1.MutatingWebhookConfiguration]{HasGeneration: true}),
		entry[*admissionv1.ValidatingAdmissionPolicyList](group, "v1", "validatingadmissionpolicies",
			rules[*admissionv1.ValidatingAdmissionPolicy]{HasGeneration: true}),
		entry[*admissionv1.ValidatingAdmissionPolicyBindingList](group, "v1", "validatingadmissionpolicybindings",
			rules[*admissionv1.ValidatingAdmissionPolicyBinding]{HasGeneration: true}),
		entry[*admissionv1.MutatingAdmissionPolicyList](group, "v1", "mutatingadmissionpolicies",
			rules[*admissionv1.MutatingAdmissionPolicy]{HasGeneration: true}),
		entry[*admissionv1.MutatingAdmissionPolicyBindingList](group, "v1", "mutatingadmissionpolicybindings",
			rules[*admissionv1.MutatingAdmissionPolicyBinding]{HasGeneration: true}),
	}
}
