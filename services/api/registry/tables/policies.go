package tables

import (
	admissionv1 "k8s.io/api/admissionregistration/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebhookColumns are the columns of webhook configurations.
var WebhookColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Webhooks", "integer", "How many webhooks the configuration has."), ageColumn,
}

// ValidatingWebhooks is the row of a validating webhook configuration.
func (r Rows) ValidatingWebhooks(c *admissionv1.ValidatingWebhookConfiguration) []any {
	return []any{c.Name, int64(len(c.Webhooks)), r.age(c)}
}

// MutatingWebhooks is the row of a mutating webhook configuration.
func (r Rows) MutatingWebhooks(c *admissionv1.MutatingWebhookConfiguration) []any {
	return []any{c.Name, int64(len(c.Webhooks)), r.age(c)}
}

// ValidatingPolicyColumns are the columns of validating admission policies.
var ValidatingPolicyColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Validations", "integer", "How many validations the policy has."),
	column("ParamKind", "string", "Kind of the policy's parameters."),
	ageColumn,
}

// ValidatingPolicy is the row of a validating admission policy.
func (r Rows) ValidatingPolicy(p *admissionv1.ValidatingAdmissionPolicy) []any {
	return []any{p.Name, int64(len(p.Spec.Validations)), paramKind(p.Spec.ParamKind), r.age(p)}
}

// MutatingPolicyColumns are the columns of mutating admission policies.
var MutatingPolicyColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Mutations", "integer", "How many mutations the policy has."),
	column("ParamKind", "string", "Kind of the policy's parameters."),
	ageColumn,
}

// MutatingPolicy is the row of a mutating admission policy.
func (r Rows) MutatingPolicy(p *admissionv1.MutatingAdmissionPolicy) []any {
	return []any{p.Name, int64(len(p.Spec.Mutations)), paramKind(p.Spec.ParamKind), r.age(p)}
}

func paramKind(k *admissionv1.ParamKind) string {
	if k == nil {
		return unset
	}
	return k.APIVersion + "/" + k.Kind
}

// PolicyBindingColumns are the columns of admission policy bindings.
var PolicyBindingColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("PolicyName", "string", "Policy that is put to use."),
	column("ParamRef", "string", "Parameters that it is used with."),
	ageColumn,
}

// ValidatingBinding is the row of a validating admission policy binding.
func (r Rows) ValidatingBinding(b *admissionv1.ValidatingAdmissionPolicyBinding) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), r.age(b)}
}

// MutatingBinding is the row of a mutating admission policy binding.
func (r Rows) MutatingBinding(b *admissionv1.MutatingAdmissionPolicyBinding) []any {
	return []any{b.Name, b.Spec.PolicyName, paramRef(b.Spec.ParamRef), r.age(b)}
}

func paramRef(ref *admissionv1.ParamRef) string {
	switch {
	case ref == nil:
		return unset
	case ref.Name != "":
		return or(ref.Namespace, "*") + "/" + ref.Name
	case ref.Selector != nil:
		return ref.Selector.String()
	default:
		return unset
	}
}

// PriorityClassColumns are the columns of priority classes.
var PriorityClassColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Value", "integer", "Priority of pods of the class."),
	column("Global-Default", "boolean", "Whether pods without a class get it."),
	ageColumn,
	column("PreemptionPolicy", "string", "Whether pods of the class push others out."),
}

// PriorityClass is the row of a priority class.
func (r Rows) PriorityClass(c *schedulingv1.PriorityClass) []any {
	return []any{c.Name, int64(c.Value), c.GlobalDefault, r.age(c), string(pointerOr(c.PreemptionPolicy, ""))}
}

// FlowSchemaColumns are the columns of flow schemas.
var FlowSchemaColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("PriorityLevel", "string", "Priority level of the requests."),
	column("MatchingPrecedence", "string", "Schemas with a lower number are asked first."),
	column("DistinguisherMethod", "string", "What tells the flows apart."),
	ageColumn,
	column("MissingPL", "string", "Whether the priority level does not exist."),
}

// FlowSchema is the row of a flow schema.
func (r Rows) FlowSchema(s *flowcontrolv1.FlowSchema) []any {
	method, dangling := none, "?"
	if s.Spec.DistinguisherMethod != nil {
		method = string(s.Spec.DistinguisherMethod.Type)
	}
	for _, c := range s.Status.Conditions {
		if c.Type == flowcontrolv1.FlowSchemaConditionDangling {
			dangling = string(c.Status)
			break
		}
	}
	return []any{
		s.Name, s.Spec.PriorityLevelConfiguration.Name, int64(s.Spec.MatchingPrecedence), method, r.age(s), dangling,
	}
}

// PriorityLevelColumns are the columns of priority level configurations.
var PriorityLevelColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Type", "string", "Limited or Exempt."),
	column("NominalConcurrencyShares", "string", "Share of the server's concurrency."),
	column("Queues", "string", "How many queues there are."),
	column("HandSize", "string", "How many queues a flow may use."),
	column("QueueLengthLimit", "string", "How many requests wait in a queue at most."),
	ageColumn,
}

// PriorityLevel is the row of a priority level configuration.
func (r Rows) PriorityLevel(p *flowcontrolv1.PriorityLevelConfiguration) []any {
	var shares, queues, hand, length any = none, none, none, none
	if l := p.Spec.Limited; l != nil {
		shares = int64(pointerOr(l.NominalConcurrencyShares, 0))
		if q := l.LimitResponse.Queuing; q != nil {
			queues, hand, length = int64(q.Queues), int64(q.HandSize), int64(q.QueueLengthLimit)
		}
	}
	return []any{p.Name, string(p.Spec.Type), shares, queues, hand, length, r.age(p)}
}
