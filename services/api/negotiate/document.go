package negotiate

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orrery-io/orrery/services/api/object"
)

// Document is one object on its way out.
type Document struct {
	GVK    schema.GroupVersionKind
	Object runtime.Object
	// entry is set when Object is a stored object in its stored version: its encodings are there already.
	entry *object.Entry
}

// Plain is a document of an object that is not stored, which it takes over: a Status, a Scale, a review.
func Plain(obj runtime.Object, gvk schema.GroupVersionKind) Document {
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return Document{GVK: gvk, Object: obj}
}

// Status is the document of a Status.
func Status(s *metav1.Status) Document {
	return Plain(s, schema.GroupVersionKind{Version: "v1", Kind: "Status"})
}

// JSON is the object as JSON with apiVersion and kind.
func (d Document) JSON() ([]byte, error) {
	if d.entry != nil {
		return d.entry.JSON()
	}
	b, err := json.Marshal(d.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s as JSON: %w", d.GVK.Kind, err)
	}
	return b, nil
}

// Proto is the object's protobuf message in pieces.
func (d Document) Proto() ([][]byte, error) {
	if d.entry != nil {
		return d.entry.Proto(), nil
	}
	m, ok := d.Object.(interface{ Marshal() ([]byte, error) })
	if !ok {
		return nil, fmt.Errorf("a %s has no protobuf encoding", d.GVK.Kind)
	}
	b, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encoding a %s as protobuf: %w", d.GVK.Kind, err)
	}
	return [][]byte{b}, nil
}

// Encode is the whole body in f's media type; views are View's business.
func (d Document) Encode(f Format) ([][]byte, error) {
	if f.MediaType == Protobuf {
		parts, err := d.Proto()
		if err != nil {
			return nil, err
		}
		return envelope(d.GVK, parts...), nil
	}
	b, err := d.JSON()
	if err != nil {
		return nil, err
	}
	return encodeJSON(f, b)
}

var newline = []byte{'\n'}

// encodeJSON is b in JSON, indented JSON or YAML.
func encodeJSON(f Format, b []byte) ([][]byte, error) {
	switch {
	case f.MediaType == YAML:
		y, err := yaml.JSONToYAML(b)
		if err != nil {
			return nil, fmt.Errorf("encoding as YAML: %w", err)
		}
		return [][]byte{y}, nil
	case f.Pretty:
		var out bytes.Buffer
		if err := json.Indent(&out, b, "", "  "); err != nil {
			return nil, fmt.Errorf("indenting JSON: %w", err)
		}
		return [][]byte{out.Bytes()}, nil
	}
	return [][]byte{b, newline}, nil
}

var (
	// protobufPrefix begins every protobuf body of the REST API.
	protobufPrefix = []byte("k8s\x00")
	// unknownTail is {3 contentEncoding: "", 4 contentType: ""} of runtime.Unknown, which Kubernetes always writes.
	unknownTail = []byte{0x1a, 0, 0x22, 0}
)

// envelope puts a message into the REST API's protobuf form: the prefix, and runtime.Unknown{1 typeMeta{1 apiVersion,
// 2 kind}, 2 raw, 3 contentEncoding, 4 contentType}.
func envelope(gvk schema.GroupVersionKind, parts ...[]byte) [][]byte {
	head := envelopeHead(nil, gvk, total(parts))
	out := make([][]byte, 0, len(parts)+2)
	return append(append(append(out, head), parts...), unknownTail)
}

func envelopeHead(b []byte, gvk schema.GroupVersionKind, size int) []byte {
	apiVersion := gvk.GroupVersion().String()
	b = append(b, protobufPrefix...)
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(2+protowire.SizeBytes(len(apiVersion))+protowire.SizeBytes(len(gvk.Kind))))
	b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), apiVersion)
	b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), gvk.Kind)
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.BytesType), uint64(size))
}

// envelopeSize is the size of what envelope makes around a message of a size.
func envelopeSize(gvk schema.GroupVersionKind, size int) int {
	return len(envelopeHead(make([]byte, 0, 96), gvk, size)) + size + len(unknownTail)
}

func total(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}
