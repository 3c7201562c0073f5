package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is a watch message of every kind {1 type, 2 object, 3 trace_parent, 4 status}, as a client receives it.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
	Type        string
	Object      []byte
	TraceParent string
	// Status is set when Type is ERROR.
	Status *metav1.Status
}

// AppendWire appends the encoding of e.
func (e *Event) AppendWire(b []byte) []byte {
	b = appendString(appendBytes(appendString(b, 1, e.Type), 2, e.Object), 3, e.TraceParent)
	if e.Status != nil {
		b = appendMessage(b, 4, e.Status)
	}
	return b
}

// Unmarshal decodes data; Object is a copy.
func (e *Event) Unmarshal(data []byte) error {
	return fieldsOf("WatchEvent", data, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 1:
			e.Type = string(v)
		case 2:
			e.Object = append(make([]byte, 0, len(e.Object)+len(v)), v...)
		case 3:
			e.TraceParent = string(v)
		case 4:
			e.Status = &metav1.Status{}
			return e.Status.Unmarshal(v)
		}
		return nil
	})
}

// EncodedEvent is a watch message in the form that every watcher's stream sends: encoded once, shared by all.
type EncodedEvent struct{ buffers mem.BufferSlice }

// EncodeEvent frames an object that is already encoded, in parts, without copying it.
func EncodeEvent(eventType, traceParent string, objectParts ...[]byte) *EncodedEvent {
	size := 0
	for _, p := range objectParts {
		size += len(p)
	}
	head := appendString(nil, 1, eventType)
	head = appendString(head, 3, traceParent)
	head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.BytesType), uint64(size))
	e := &EncodedEvent{buffers: mem.BufferSlice{mem.SliceBuffer(head)}}
	for _, p := range objectParts {
		e.buffers = append(e.buffers, mem.SliceBuffer(p))
	}
	return e
}

// Buffers implements Buffered.
func (e *EncodedEvent) Buffers() mem.BufferSlice { return e.buffers }
