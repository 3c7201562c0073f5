package negotiate

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
)

var (
	partialGVK     = schema.GroupVersionKind{Group: metav1.GroupName, Version: "v1", Kind: "PartialObjectMetadata"}
	partialListGVK = schema.GroupVersionKind{Group: metav1.GroupName, Version: "v1", Kind: "PartialObjectMetadataList"}
)

// metaOnly is an entry reduced to its metadata.
type metaOnly struct{ entry *object.Entry }

func partial(e *object.Entry) metaOnly { return metaOnly{e} }

// Object is the PartialObjectMetadata; it shares the entry's metadata and must not be changed.
func (m metaOnly) object() *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: partialGVK.Kind, APIVersion: "meta.k8s.io/v1"}}
	if a, ok := m.entry.Object.(metav1.ObjectMetaAccessor); ok {
		if om, ok := a.GetObjectMeta().(*metav1.ObjectMeta); ok {
			p.ObjectMeta = *om
		}
	}
	return p
}

func (m metaOnly) json() ([]byte, error) {
	b, err := json.Marshal(m.object())
	if err != nil {
		return nil, fmt.Errorf("encoding the metadata of %s: %w", m.entry.Key, err)
	}
	return b, nil
}

// proto is PartialObjectMetadata{1 metadata}. Every kind has its metadata in field 1, so the message is those fields of
// the object's own encoding; several occurrences count as one, merged.
func (m metaOnly) proto() ([][]byte, error) {
	var out [][]byte
	for _, part := range m.entry.Proto() {
		for b := part; len(b) > 0; {
			n, typ, tag := protowire.ConsumeTag(b)
			if tag < 0 {
				return nil, fmt.Errorf("reading the encoding of %s: %w", m.entry.Key, protowire.ParseError(tag))
			}
			value := protowire.ConsumeFieldValue(n, typ, b[tag:])
			if value < 0 {
				return nil, fmt.Errorf("reading the encoding of %s: %w", m.entry.Key, protowire.ParseError(value))
			}
			if n == 1 {
				out = append(out, b[:tag+value])
			}
			b = b[tag+value:]
		}
	}
	return out, nil
}

// Encode is the whole body.
func (m metaOnly) Encode(f Format) ([][]byte, error) {
	if f.MediaType == Protobuf {
		parts, err := m.proto()
		if err != nil {
			return nil, err
		}
		return envelope(partialGVK, parts...), nil
	}
	b, err := m.json()
	if err != nil {
		return nil, err
	}
	return encodeJSON(f, b)
}
