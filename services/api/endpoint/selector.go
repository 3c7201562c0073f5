package endpoint

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/watchcache"
)

const (
	fieldName      = "metadata.name"
	fieldNamespace = "metadata.namespace"
)

// filter turns the selectors of a list or watch into what the cache looks up and what it must ask each object.
func (e *Endpoint) filter(namespace string, o *metav1.ListOptions) (watchcache.Filter, error) {
	f := watchcache.Filter{Namespace: namespace}
	label, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return f, apierrors.NewBadRequest(err.Error())
	}
	field, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return f, apierrors.NewBadRequest(err.Error())
	}
	var rest fields.Requirements
	for _, r := range field.Requirements() {
		if err := e.knowsField(r.Field); err != nil {
			return f, err
		}
		if !e.lookup(&f, r) {
			rest = append(rest, r)
		}
	}
	if label.Empty() && len(rest) == 0 {
		return f, nil
	}
	f.Match = func(stored *object.Entry) bool {
		if !label.Matches(labels.Set(stored.Object.GetLabels())) {
			return false
		}
		return len(rest) == 0 || e.fieldsMatch(stored, rest)
	}
	return f, nil
}

// lookup puts an exact requirement into the filter's own fields; false when it has no place there.
func (e *Endpoint) lookup(f *watchcache.Filter, r fields.Requirement) bool {
	if r.Operator != selection.Equals && r.Operator != selection.DoubleEquals || r.Value == "" {
		return false
	}
	switch {
	case r.Field == fieldName && f.Name == "":
		f.Name = r.Value
	case r.Field == fieldNamespace && f.Namespace == "" && e.kind.Namespaced:
		f.Namespace = r.Value
	case r.Field == e.kind.IndexField && e.kind.IndexValue != nil && e.kind.Alias == nil && !f.HasIndex:
		f.Index, f.HasIndex = r.Value, true
	default:
		return false
	}
	return true
}

func (e *Endpoint) knowsField(name string) error {
	if name == fieldName || name == fieldNamespace && e.kind.Namespaced {
		return nil
	}
	for _, known := range e.kind.FieldNames {
		if name == known {
			return nil
		}
	}
	if len(e.kind.FieldNames) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("field label not supported: %s", name))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("%q is not a known field selector: only %q, %q", name, fieldName, fieldNamespace))
}

func (e *Endpoint) fieldsMatch(stored *object.Entry, requirements fields.Requirements) bool {
	entry, err := e.view(stored)
	if err != nil {
		return false
	}
	for _, r := range requirements {
		var value string
		switch r.Field {
		case fieldName:
			value = entry.Object.GetName()
		case fieldNamespace:
			value = entry.Object.GetNamespace()
		default:
			value = entry.Fields(e.kind.SelectableFields)[r.Field]
		}
		if (value == r.Value) == (r.Operator == selection.NotEquals) {
			return false
		}
	}
	return true
}
