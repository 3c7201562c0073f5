package endpoint

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/orrery-io/orrery/services/api/object"
)

// shape tells the parts of a kind's Go struct apart: ObjectMeta, Status where it has one, and the rest (Spec, Data and so on).
type shape struct {
	meta, status int // field numbers, -1 when absent
	rest         []int
}

func shapeOf(obj object.Object) shape {
	t := reflect.TypeOf(obj).Elem()
	s := shape{meta: -1, status: -1}
	for i := range t.NumField() {
		switch t.Field(i).Name {
		case "TypeMeta":
		case "ObjectMeta":
			s.meta = i
		case "Status":
			s.status = i
		default:
			s.rest = append(s.rest, i)
		}
	}
	return s
}

func part(obj object.Object, i int) reflect.Value { return reflect.ValueOf(obj).Elem().Field(i) }

// clearStatus empties obj's status.
func (s shape) clearStatus(obj object.Object) {
	if s.status >= 0 {
		part(obj, s.status).SetZero()
	}
}

// copyStatus gives obj the status of from, which it shares with it.
func (s shape) copyStatus(obj, from object.Object) {
	if s.status >= 0 {
		part(obj, s.status).Set(part(from, s.status))
	}
}

// withMetaAndStatus is old with the metadata and the status of obj; it shares the rest with both.
func (s shape) withMetaAndStatus(old, obj object.Object) object.Object {
	out := shallow(old)
	part(out, s.meta).Set(part(obj, s.meta))
	s.copyStatus(out, obj)
	return out
}

// sameRest says whether a and b agree in all but metadata and status.
func (s shape) sameRest(a, b object.Object) bool {
	for _, i := range s.rest {
		if !equality.Semantic.DeepEqual(part(a, i).Interface(), part(b, i).Interface()) {
			return false
		}
	}
	return true
}

// shallow is a copy of the outermost struct: its metadata may be set, what hangs below may not be changed.
func shallow(obj object.Object) object.Object {
	src := reflect.ValueOf(obj).Elem()
	dst := reflect.New(src.Type())
	dst.Elem().Set(src)
	return dst.Interface().(object.Object)
}

func deepCopy(obj object.Object) object.Object { return obj.DeepCopyObject().(object.Object) }
