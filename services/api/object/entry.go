package object

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is what every kind of k8s.io/api is.
type Object interface {
	metav1.Object
	runtime.Object
	Size() int
	Marshal() ([]byte, error)
	MarshalToSizedBuffer([]byte) (int, error)
	Unmarshal([]byte) error
}

// Entry is one version of one object. Nothing in it may be changed.
type Entry struct {
	// Key is the object's key in the store.
	Key string
	// Revision is the store revision that wrote this version: its resourceVersion.
	Revision int64
	// Object is the decoded object, with its resourceVersion, and with apiVersion and kind set.
	Object Object
	// TraceParent is the W3C trace context of the write.
	TraceParent string

	proto [2][]byte
	json  atomic.Pointer[[]byte]
	// What readers derive from the entry, made when the first of them asks.
	fields  atomic.Pointer[fields.Set]
	initial atomic.Pointer[Event]
	view    atomic.Pointer[Entry]
}

// NewEntry takes a decoded object and its protobuf encoding without resourceVersion, as it is stored; it sets the object's
// resourceVersion. Both belong to the entry from then on.
func NewEntry(key string, revision int64, obj Object, stored []byte) *Entry {
	rv := strconv.FormatInt(revision, 10)
	obj.SetResourceVersion(rv)
	return &Entry{Key: key, Revision: revision, Object: obj, proto: [2][]byte{stored, resourceVersionSuffix(rv)}}
}

// resourceVersionSuffix is the encoding of {1 metadata: {6 resourceVersion}}.
func resourceVersionSuffix(rv string) []byte {
	inner := protowire.AppendString(protowire.AppendTag(nil, 6, protowire.BytesType), rv)
	return protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), inner)
}

// Stored is the encoding that is kept in the store: without resourceVersion, apiVersion and kind.
func (e *Entry) Stored() []byte { return e.proto[0] }

// Proto is the object's protobuf encoding in pieces to be sent one after the other. apiVersion and kind are not part of
// it: the typed services imply them, the REST encoding has them in its envelope.
func (e *Entry) Proto() [][]byte { return e.proto[:] }

// ProtoSize is the length of Proto's pieces together.
func (e *Entry) ProtoSize() int { return len(e.proto[0]) + len(e.proto[1]) }

// JSON is the object as JSON with apiVersion and kind, without a newline at the end.
func (e *Entry) JSON() ([]byte, error) {
	if b := e.json.Load(); b != nil {
		return *b, nil
	}
	b, err := json.Marshal(e.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s as JSON: %w", e.Key, err)
	}
	e.json.Store(&b)
	return b, nil
}

// At is the same version of the object shown with another revision: what a deletion, or a change that takes the object
// out of a selector, presents. It shares all but the resourceVersion with e.
func (e *Entry) At(revision int64) *Entry {
	src := reflect.ValueOf(e.Object).Elem()
	dst := reflect.New(src.Type())
	dst.Elem().Set(src)
	return NewEntry(e.Key, revision, dst.Interface().(Object), e.proto[0])
}

// Fields is the object's selectable fields, as build makes them; build must be the same function for every call.
func (e *Entry) Fields(build func(Object) fields.Set) fields.Set {
	if s := e.fields.Load(); s != nil {
		return *s
	}
	s := build(e.Object)
	e.fields.Store(&s)
	return s
}

// Initial is the event that tells a new watcher of an object that was there before: shared, so that its frames are
// encoded once for all watchers that start.
func (e *Entry) Initial() *Event {
	if ev := e.initial.Load(); ev != nil {
		return ev
	}
	ev := &Event{Revision: e.Revision, Entry: e, TraceParent: e.TraceParent}
	if !e.initial.CompareAndSwap(nil, ev) {
		return e.initial.Load()
	}
	return ev
}

// View is the entry as another kind shows it (events.k8s.io's Event of a v1 Event), converted once. A stored kind has
// at most one such other kind, so convert is the same function for every call.
func (e *Entry) View(convert func(*Entry) (*Entry, error)) (*Entry, error) {
	if v := e.view.Load(); v != nil {
		return v, nil
	}
	v, err := convert(e)
	if err != nil {
		return nil, err
	}
	if !e.view.CompareAndSwap(nil, v) {
		return e.view.Load(), nil
	}
	return v, nil
}
