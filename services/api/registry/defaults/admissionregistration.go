package defaults

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ValidatingWebhookConfiguration completes every webhook of a configuration.
func ValidatingWebhookConfiguration(c *admissionv1.ValidatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setPointer(&w.FailurePolicy, admissionv1.Fail)
		setPointer(&w.MatchPolicy, admissionv1.Equivalent)
		setPointer(&w.NamespaceSelector, metav1.LabelSelector{})
		setPointer(&w.ObjectSelector, metav1.LabelSelector{})
		setPointer(&w.TimeoutSeconds, 10)
		webhookClient(&w.ClientConfig)
		for j := range w.Rules {
			setPointer(&w.Rules[j].Scope, admissionv1.AllScopes)
		}
	}
}

// MutatingWebhookConfiguration completes every webhook of a configuration.
func MutatingWebhookConfiguration(c *admissionv1.MutatingWebhookConfiguration) {
	for i := range c.Webhooks {
		w := &c.Webhooks[i]
		setPointer(&w.FailurePolicy, admissionv1.Fail)
		setPointer(&w.MatchPolicy, admissionv1.Equivalent)
		setPointer(&w.NamespaceSelector, metav1.LabelSelector{})
		setPointer(&w.ObjectSelector, metav1.LabelSelector{})
		setPointer(&w.TimeoutSeconds, 10)
		setPointer(&w.ReinvocationPolicy, admissionv1.NeverReinvocationPolicy)
		webhookClient(&w.ClientConfig)
		for j := range w.Rules {
			setPointer(&w.Rules[j].Scope, admissionv1.AllScopes)
		}
	}
}

func webhookClient(c *admissionv1.WebhookClientConfig) {
	if c.Service != nil {
		setPointer(&c.Service.Port, 443)
	}
}

// ValidatingAdmissionPolicy completes a policy.
func ValidatingAdmissionPolicy(p *admissionv1.ValidatingAdmissionPolicy) {
	setPointer(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// ValidatingAdmissionPolicyBinding completes a binding.
func ValidatingAdmissionPolicyBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

// MutatingAdmissionPolicy completes a policy.
func MutatingAdmissionPolicy(p *admissionv1.MutatingAdmissionPolicy) {
	setPointer(&p.Spec.FailurePolicy, admissionv1.Fail)
	matchResources(p.Spec.MatchConstraints)
}

// MutatingAdmissionPolicyBinding completes a binding.
func MutatingAdmissionPolicyBinding(b *admissionv1.MutatingAdmissionPolicyBinding) {
	matchResources(b.Spec.MatchResources)
}

func matchResources(m *admissionv1.MatchResources) {
	if m == nil {
		return
	}
	setPointer(&m.MatchPolicy, admissionv1.Equivalent)
	setPointer(&m.NamespaceSelector, metav1.LabelSelector{})
	setPointer(&m.ObjectSelector, metav1.LabelSelector{})
	for i := range m.ResourceRules {
		setPointer(&m.ResourceRules[i].Scope, admissionv1.AllScopes)
	}
	for i := range m.ExcludeResourceRules {
		setPointer(&m.ExcludeResourceRules[i].Scope, admissionv1.AllScopes)
	}
}
