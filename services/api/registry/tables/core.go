package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NamespaceColumns are the columns of namespaces.
var NamespaceColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Status", "string", "Whether the namespace is in use or being removed."), ageColumn,
}

// Namespace is the row of a namespace.
func (r Rows) Namespace(ns *corev1.Namespace) []any {
	return []any{ns.Name, string(ns.Status.Phase), r.age(ns)}
}

// ConfigMapColumns are the columns of config maps.
var ConfigMapColumns = []metav1.TableColumnDefinition{nameColumn, column("Data", "string", "How many keys it has."), ageColumn}

// ConfigMap is the row of a config map.
func (r Rows) ConfigMap(c *corev1.ConfigMap) []any {
	return []any{c.Name, int64(len(c.Data) + len(c.BinaryData)), r.age(c)}
}

// SecretColumns are the columns of secrets.
var SecretColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Type", "string", "What the secret is for."), column("Data", "string", "How many keys it has."), ageColumn,
}

// Secret is the row of a secret.
func (r Rows) Secret(s *corev1.Secret) []any {
	return []any{s.Name, string(s.Type), int64(len(s.Data)), r.age(s)}
}

// ServiceAccountColumns are the columns of service accounts.
var ServiceAccountColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Secrets", "string", "How many secrets pods under the account may use."), ageColumn,
}

// ServiceAccount is the row of a service account.
func (r Rows) ServiceAccount(a *corev1.ServiceAccount) []any {
	return []any{a.Name, int64(len(a.Secrets)), r.age(a)}
}

// ResourceQuotaColumns are the columns of resource quotas.
var ResourceQuotaColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Request", "string", "What is used of what may be requested or created."),
	column("Limit", "string", "What is used of what limits may add up to."),
	ageColumn,
}

// ResourceQuota is the row of a resource quota.
func (r Rows) ResourceQuota(q *corev1.ResourceQuota) []any {
	var requests, limits []string
	names := make([]corev1.ResourceName, 0, len(q.Status.Hard))
	for name := range q.Status.Hard {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		used, hard := q.Status.Used[name], q.Status.Hard[name]
		cell := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(string(name), "limits.") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), r.age(q)}
}

// EventColumns are the columns of events.
var EventColumns = []metav1.TableColumnDefinition{
	column("Last Seen", "string", "Time since the event last happened."),
	column("Type", "string", "Normal or Warning."),
	column("Reason", "string", "What happened, in one word."),
	column("Object", "string", "What it happened to."),
	wide("Subobject", "string", "Part of the object that it happened to."),
	wide("Source", "string", "Who reported it."),
	column("Message", "string", "What happened, in words."),
	wide("First Seen", "string", "Time since the event first happened."),
	wide("Count", "string", "How often it happened."),
	{Name: "Name", Type: "string", Format: "name", Description: nameColumn.Description, Priority: 1},
}

// Event is the row of an event.
func (r Rows) Event(e *corev1.Event) []any {
	first := r.since(e.FirstTimestamp.Time)
	if e.FirstTimestamp.IsZero() {
		first = r.since(e.EventTime.Time)
	}
	last, count := r.since(e.LastTimestamp.Time), cmp.Or(e.Count, 1)
	if e.LastTimestamp.IsZero() {
		last = first
	}
	if e.Series != nil {
		last, count = r.since(e.Series.LastObservedTime.Time), e.Series.Count
	}
	target := strings.ToLower(e.InvolvedObject.Kind)
	if e.InvolvedObject.Name != "" {
		target += "/" + e.InvolvedObject.Name
	}
	source := or(e.Source.Component, e.ReportingController)
	if host := or(e.Source.Host, e.ReportingInstance); host != "" {
		source += ", " + host
	}
	return []any{
		last, e.Type, e.Reason, target, e.InvolvedObject.FieldPath, source, strings.TrimSpace(e.Message), first, int64(count), e.Name,
	}
}

// ComponentStatusColumns are the columns of component statuses.
var ComponentStatusColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Status", "string", "Whether the component is healthy."),
	column("Message", "string", "What the component says of itself."),
	column("Error", "string", "What is wrong with the component."),
}

// ComponentStatus is the row of a component status.
func (r Rows) ComponentStatus(s *corev1.ComponentStatus) []any {
	for _, c := range s.Conditions {
		if c.Type != corev1.ComponentHealthy {
			continue
		}
		status := "Unhealthy"
		if c.Status == corev1.ConditionTrue {
			status = "Healthy"
		}
		return []any{s.Name, status, c.Message, c.Error}
	}
	return []any{s.Name, "Unknown", "", ""}
}
