package registry

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/orrery-io/orrery/services/api/registry/defaults"
	"github.com/orrery-io/orrery/services/api/registry/tables"
)

func admissionKinds(o Options) []*Kind {
	row := o.rows()
	const group = "admissionregistration.k8s.io"
	return []*Kind{
		entry[*admissionv1.ValidatingWebhookConfigurationList](group, "v1", "validatingwebhookconfigurations",
			rules[*admissionv1.ValidatingWebhookConfiguration]{
				Default: defaults.ValidatingWebhookConfiguration, HasGeneration: true,
				Columns: tables.WebhookColumns,
				Row:     row.ValidatingWebhooks,
			}),
		entry[*admissionv1.MutatingWebhookConfigurationList](group, "v1", "mutatingwebhookconfigurations",
			rules[*admissionv1.MutatingWebhookConfiguration]{
				Default: defaults.MutatingWebhookConfiguration, HasGeneration: true,
				Columns: tables.WebhookColumns,
				Row:     row.MutatingWebhooks,
			}),
		entry[*admissionv1.ValidatingAdmissionPolicyList](group, "v1", "validatingadmissionpolicies",
			rules[*admissionv1.ValidatingAdmissionPolicy]{
				Default: defaults.ValidatingAdmissionPolicy, HasGeneration: true,
				Columns: tables.ValidatingPolicyColumns,
				Row:     row.ValidatingPolicy,
			}),
		entry[*admissionv1.ValidatingAdmissionPolicyBindingList](group, "v1", "validatingadmissionpolicybindings",
			rules[*admissionv1.ValidatingAdmissionPolicyBinding]{
				Default: defaults.ValidatingAdmissionPolicyBinding, HasGeneration: true,
				Columns: tables.PolicyBindingColumns,
				Row:     row.ValidatingBinding,
			}),
		entry[*admissionv1.MutatingAdmissionPolicyList](group, "v1", "mutatingadmissionpolicies",
			rules[*admissionv1.MutatingAdmissionPolicy]{
				Default: defaults.MutatingAdmissionPolicy, HasGeneration: true,
				Columns: tables.MutatingPolicyColumns,
				Row:     row.MutatingPolicy,
			}),
		entry[*admissionv1.MutatingAdmissionPolicyBindingList](group, "v1", "mutatingadmissionpolicybindings",
			rules[*admissionv1.MutatingAdmissionPolicyBinding]{
				Default: defaults.MutatingAdmissionPolicyBinding, HasGeneration: true,
				Columns: tables.PolicyBindingColumns,
				Row:     row.MutatingBinding,
			}),
	}
}
