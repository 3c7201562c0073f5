package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GetRequest is Get{1 namespace, 2 name, 3 resource_version} of every kind.
type GetRequest struct{ Namespace, Name, ResourceVersion string }

// ListRequest is List and Watch{1 namespace, 2 ListOptions}.
type ListRequest struct {
	Namespace string
	Options   metav1.ListOptions
}

// CreateRequest is Create{1 namespace, 2 object, 3 CreateOptions, 4 name}; name is set for subresources that take an
// object of another kind (Bind, Evict, CreateToken).
type CreateRequest struct {
	Namespace string
	Object    []byte
	Options   metav1.CreateOptions
	Name      string
}

// UpdateRequest is Update, UpdateStatus and the like{1 namespace, 2 object, 3 UpdateOptions, 4 name}.
type UpdateRequest struct {
	Namespace string
	Object    []byte
	Options   metav1.UpdateOptions
	Name      string
}

// PatchType is orrery.meta.v1.PatchType.
type PatchType int32

// Patch types; their content types are those of Kubernetes.
const (
	PatchUnspecified PatchType = iota
	PatchJSON
	PatchMerge
	PatchStrategicMerge
	PatchApply
)

// PatchRequest is Patch{1 namespace, 2 name, 3 PatchType, 4 patch, 5 PatchOptions, 6 subresource}.
type PatchRequest struct {
	Namespace, Name string
	Type            PatchType
	Patch           []byte
	Options         metav1.PatchOptions
	Subresource     string
}

// DeleteRequest is Delete{1 namespace, 2 name, 3 DeleteOptions}.
type DeleteRequest struct {
	Namespace, Name string
	Options         metav1.DeleteOptions
}

// DeleteCollectionRequest is DeleteCollection{1 namespace, 2 DeleteOptions, 3 ListOptions}.
type DeleteCollectionRequest struct {
	Namespace   string
	Options     metav1.DeleteOptions
	ListOptions metav1.ListOptions
}

// AppendWire appends the encoding of r.
func (r *GetRequest) AppendWire(b []byte) []byte {
	return appendString(appendString(appendString(b, 1, r.Namespace), 2, r.Name), 3, r.ResourceVersion)
}

// Unmarshal decodes data.
func (r *GetRequest) Unmarshal(data []byte) error {
	return fieldsOf("GetRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		return stringField(n, v, &r.Namespace, &r.Name, &r.ResourceVersion)
	})
}

// AppendWire appends the encoding of r.
func (r *ListRequest) AppendWire(b []byte) []byte {
	return appendMessage(appendString(b, 1, r.Namespace), 2, &r.Options)
}

// Unmarshal decodes data.
func (r *ListRequest) Unmarshal(data []byte) error {
	return fieldsOf("ListRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		if n == 2 {
			return r.Options.Unmarshal(v)
		}
		return stringField(n, v, &r.Namespace)
	})
}

// AppendWire appends the encoding of r.
func (r *CreateRequest) AppendWire(b []byte) []byte {
	return appendString(appendMessage(appendBytes(appendString(b, 1, r.Namespace), 2, r.Object), 3, &r.Options), 4, r.Name)
}

// Unmarshal decodes data.
func (r *CreateRequest) Unmarshal(data []byte) error {
	return fieldsOf("CreateRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		return objectField(n, v, &r.Namespace, &r.Object, &r.Options, &r.Name)
	})
}

// AppendWire appends the encoding of r.
func (r *UpdateRequest) AppendWire(b []byte) []byte {
	return appendString(appendMessage(appendBytes(appendString(b, 1, r.Namespace), 2, r.Object), 3, &r.Options), 4, r.Name)
}

// Unmarshal decodes data.
func (r *UpdateRequest) Unmarshal(data []byte) error {
	return fieldsOf("UpdateRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		return objectField(n, v, &r.Namespace, &r.Object, &r.Options, &r.Name)
	})
}

// AppendWire appends the encoding of r.
func (r *PatchRequest) AppendWire(b []byte) []byte {
	b = appendString(appendString(b, 1, r.Namespace), 2, r.Name)
	if r.Type != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), uint64(r.Type))
	}
	return appendString(appendMessage(appendBytes(b, 4, r.Patch), 5, &r.Options), 6, r.Subresource)
}

// Unmarshal decodes data.
func (r *PatchRequest) Unmarshal(data []byte) error {
	return fieldsOf("PatchRequest", data, func(n protowire.Number, v []byte, number uint64) error {
		switch n {
		case 3:
			r.Type = PatchType(number)
		case 4:
			r.Patch = append([]byte(nil), v...)
		case 5:
			return r.Options.Unmarshal(v)
		case 6:
			r.Subresource = string(v)
		default:
			return stringField(n, v, &r.Namespace, &r.Name)
		}
		return nil
	})
}

// AppendWire appends the encoding of r.
func (r *DeleteRequest) AppendWire(b []byte) []byte {
	return appendMessage(appendString(appendString(b, 1, r.Namespace), 2, r.Name), 3, &r.Options)
}

// Unmarshal decodes data.
func (r *DeleteRequest) Unmarshal(data []byte) error {
	return fieldsOf("DeleteRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		if n == 3 {
			return r.Options.Unmarshal(v)
		}
		return stringField(n, v, &r.Namespace, &r.Name)
	})
}

// AppendWire appends the encoding of r.
func (r *DeleteCollectionRequest) AppendWire(b []byte) []byte {
	return appendMessage(appendMessage(appendString(b, 1, r.Namespace), 2, &r.Options), 3, &r.ListOptions)
}

// Unmarshal decodes data.
func (r *DeleteCollectionRequest) Unmarshal(data []byte) error {
	return fieldsOf("DeleteCollectionRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 2:
			return r.Options.Unmarshal(v)
		case 3:
			return r.ListOptions.Unmarshal(v)
		}
		return stringField(n, v, &r.Namespace)
	})
}

func appendString(b []byte, n protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, n, protowire.BytesType), s)
}

func appendBytes(b []byte, n protowire.Number, v []byte) []byte {
	if v == nil {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

func appendMessage(b []byte, n protowire.Number, m Marshaler) []byte {
	size := m.Size()
	if size == 0 {
		return b
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.BytesType), uint64(size))
	at := len(b)
	b = append(b, make([]byte, size)...)
	if _, err := m.MarshalToSizedBuffer(b[at:]); err != nil {
		// The meta/v1 option types hold nothing that can fail to encode.
		panic("wire: " + err.Error())
	}
	return b
}

func stringField(n protowire.Number, v []byte, into ...*string) error {
	if int(n) <= len(into) {
		*into[n-1] = string(v)
	}
	return nil
}

func objectField(n protowire.Number, v []byte, namespace *string, object *[]byte, options Unmarshaler, name *string) error {
	switch n {
	case 1:
		*namespace = string(v)
	case 2:
		*object = append(*object, v...)
	case 3:
		return options.Unmarshal(v)
	case 4:
		*name = string(v)
	}
	return nil
}

// fieldsOf calls f for every field: with the bytes of a length-delimited one or the number of a varint. Unknown fields
// are the callee's to ignore.
func fieldsOf(message string, data []byte, f func(n protowire.Number, v []byte, number uint64) error) error {
	for len(data) > 0 {
		n, typ, size := protowire.ConsumeTag(data)
		if size < 0 {
			return fmt.Errorf("%s: malformed protobuf: %w", message, protowire.ParseError(size))
		}
		data = data[size:]
		var v []byte
		var number uint64
		switch typ {
		case protowire.BytesType:
			v, size = protowire.ConsumeBytes(data)
		case protowire.VarintType:
			number, size = protowire.ConsumeVarint(data)
		default:
			size = protowire.ConsumeFieldValue(n, typ, data)
		}
		if size < 0 {
			return fmt.Errorf("%s: malformed protobuf in field %d: %w", message, n, protowire.ParseError(size))
		}
		data = data[size:]
		if err := f(n, v, number); err != nil {
			return fmt.Errorf("%s: field %d: %w", message, n, err)
		}
	}
	return nil
}
