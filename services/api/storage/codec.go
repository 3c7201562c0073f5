package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
)

// magic opens every protobuf value, as Kubernetes' own storage has it: tools that read an etcd of Kubernetes read this too.
var magic = []byte("k8s\x00")

// Codec turns the objects of one kind into store values and back. A value is the magic and a runtime.Unknown
// {1 TypeMeta {1 apiVersion, 2 kind}, 2 raw}, where raw is the object's protobuf encoding without resourceVersion.
type Codec struct {
	gvk    schema.GroupVersionKind
	make   func() object.Object
	header []byte // all that stands before raw's length
}

// NewCodec is the codec of a kind; newObject makes an empty object of it.
func NewCodec(gvk schema.GroupVersionKind, newObject func() object.Object) *Codec {
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	meta := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), apiVersion)
	meta = protowire.AppendString(protowire.AppendTag(meta, 2, protowire.BytesType), kind)
	header := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(magic), 1, protowire.BytesType), meta)
	return &Codec{gvk: gvk, make: newObject, header: protowire.AppendTag(header, 2, protowire.BytesType)}
}

// Kind is the kind that the codec encodes.
func (c *Codec) Kind() schema.GroupVersionKind { return c.gvk }

// Encode makes the value that is stored for obj; stored is the part of it that is the object (see object.Entry.Stored). It
// takes the resourceVersion out of obj.
func (c *Codec) Encode(obj object.Object) (value, stored []byte, err error) {
	obj.SetResourceVersion("")
	obj.SetSelfLink("")
	size := obj.Size()
	value = make([]byte, 0, len(c.header)+binary.MaxVarintLen32+size)
	value = protowire.AppendVarint(append(value, c.header...), uint64(size))
	start := len(value)
	value = value[:start+size]
	n, err := obj.MarshalToSizedBuffer(value[start:])
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a %s: %w", c.gvk.Kind, err)
	}
	if n != size {
		return nil, nil, fmt.Errorf("encoding a %s: %d bytes where %d were announced: the object changed meanwhile", c.gvk.Kind, n, size)
	}
	return value, value[start:], nil
}

// Decode makes the entry of a stored value. The entry keeps value: its bytes are what readers are sent.
func (c *Codec) Decode(key string, revision int64, value []byte) (*object.Entry, error) {
	stored, err := c.raw(value)
	if err != nil {
		return nil, fmt.Errorf("the stored value of %s: %w", key, err)
	}
	obj := c.make()
	if err := obj.Unmarshal(stored); err != nil {
		return nil, fmt.Errorf("the stored value of %s: %w", key, err)
	}
	return c.Entry(key, revision, obj, stored), nil
}

// Entry makes the entry of an object that was written at revision, stored being its part of Encode's result.
func (c *Codec) Entry(key string, revision int64, obj object.Object, stored []byte) *object.Entry {
	obj.GetObjectKind().SetGroupVersionKind(c.gvk)
	return object.NewEntry(key, revision, obj, stored)
}

// raw finds the object's bytes in a value.
func (c *Codec) raw(value []byte) ([]byte, error) {
	if bytes.HasPrefix(value, c.header) {
		stored, n := protowire.ConsumeBytes(value[len(c.header):])
		if n < 0 {
			return nil, fmt.Errorf("malformed envelope: %w", protowire.ParseError(n))
		}
		return stored, nil
	}
	if !bytes.HasPrefix(value, magic) {
		return nil, fmt.Errorf("does not begin with %q: it was not written as a %s", magic, c.gvk.Kind)
	}
	return nil, fmt.Errorf("is not a %s in version %s", c.gvk.Kind, c.gvk.GroupVersion())
}
