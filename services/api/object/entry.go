package object

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
