package registry

import (
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry/convert"
	"github.com/orrery-io/orrery/services/api/registry/tables"
	"github.com/orrery-io/orrery/services/api/registry/validation"
)

// eventKinds are events under their two names: stored as v1 Event, seen as that and as events.k8s.io/v1 Event.
func eventKinds(o Options) []*Kind {
	row := o.rows()
	return []*Kind{
		entry[*corev1.EventList]("", "v1", "events", rules[*corev1.Event]{
			Validate:                 validation.Event,
			ValidateUpdate:           validation.EventUpdate,
			TTLSeconds:               func(*corev1.Event) int64 { return eventTTL },
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			NameCheck:                path.ValidatePathSegmentName,
			FieldNames: []string{
				"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
				"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
				"reason", "reportingComponent", "source", "type",
			},
			Fields: func(e *corev1.Event) fields.Set {
				set := objectReferenceFields("involvedObject", e.InvolvedObject)
				set["reason"] = e.Reason
				set["reportingComponent"] = e.ReportingController
				set["source"] = e.Source.Component
				if e.Source.Component == "" {
					set["source"] = e.ReportingController
				}
				set["type"] = e.Type
				return set
			},
			Columns: tables.EventColumns,
			Row:     row.Event,
		}),
		entry[*eventsv1.EventList]("events.k8s.io", "v1", "events", rules[*eventsv1.Event]{
			AllowUnconditionalUpdate: true,
			AllowCreateOnUpdate:      true,
			Validate:                 func(e *eventsv1.Event) field.ErrorList { return validation.Event(convert.EventToCore(e)) },
			ValidateUpdate: func(e, old *eventsv1.Event) field.ErrorList {
				return validation.EventUpdate(convert.EventToCore(e), convert.EventToCore(old))
			},
			TTLSeconds: func(*eventsv1.Event) int64 { return eventTTL },
			FieldNames: []string{
				"regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "regarding.apiVersion",
				"regarding.resourceVersion", "regarding.fieldPath", "reason", "reportingController", "type",
			},
			Fields: func(e *eventsv1.Event) fields.Set {
				set := objectReferenceFields("regarding", e.Regarding)
				set["reason"] = e.Reason
				set["reportingController"] = e.ReportingController
				set["type"] = e.Type
				return set
			},
			Columns: tables.EventColumns,
			Row:     func(e *eventsv1.Event) []any { return row.Event(convert.EventToCore(e)) },
			Alias: &Alias{
				Version: "v1", Plural: "events",
				ToStored: func(view object.Object) (object.Object, error) {
					return convert.EventToCore(view.(*eventsv1.Event)), nil
				},
				FromStored: func(stored object.Object) (object.Object, error) {
					return convert.EventFromCore(stored.(*corev1.Event)), nil
				},
			},
		}),
	}
}

// eventTTL is how many seconds an event is kept after its last occurrence.
const eventTTL = 60 * 60

func objectReferenceFields(prefix string, ref corev1.ObjectReference) fields.Set {
	return fields.Set{
		prefix + ".kind":            ref.Kind,
		prefix + ".namespace":       ref.Namespace,
		prefix + ".name":            ref.Name,
		prefix + ".uid":             string(ref.UID),
		prefix + ".apiVersion":      ref.APIVersion,
		prefix + ".resourceVersion": ref.ResourceVersion,
		prefix + ".fieldPath":       ref.FieldPath,
	}
}
