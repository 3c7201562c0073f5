package wire

import (
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// RestRequest is orrery.api.v1.RestRequest{1 path, 2 query, 3 google.api.HttpBody{1 content_type, 2 data}}: one HTTP request.
type RestRequest struct {
	// Path has no leading slash and is unescaped; Query is raw.
	Path, Query string
	ContentType string
	Body        []byte
}

// AppendWire appends the encoding of r.
func (r *RestRequest) AppendWire(b []byte) []byte {
	b = appendString(appendString(b, 1, r.Path), 2, r.Query)
	if r.ContentType == "" && len(r.Body) == 0 {
		return b
	}
	size := fieldSize(len(r.ContentType)) + fieldSize(len(r.Body))
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.BytesType), uint64(size))
	b = appendString(b, 1, r.ContentType)
	if len(r.Body) > 0 {
		b = appendBytes(b, 2, r.Body)
	}
	return b
}

// Unmarshal decodes data; Body is a copy.
func (r *RestRequest) Unmarshal(data []byte) error {
	return fieldsOf("RestRequest", data, func(n protowire.Number, v []byte, _ uint64) error {
		if n == 3 {
			return fieldsOf("HttpBody", v, func(n protowire.Number, v []byte, _ uint64) error {
				switch n {
				case 1:
					r.ContentType = string(v)
				case 2:
					r.Body = append([]byte(nil), v...)
				}
				return nil
			})
		}
		return stringField(n, v, &r.Path, &r.Query)
	})
}

// HTTPBody is google.api.HttpBody{1 content_type, 2 data} whose data is in pieces that other messages may share.
type HTTPBody struct {
	ContentType string
	Parts       [][]byte
}

// Buffers implements Buffered.
func (h *HTTPBody) Buffers() mem.BufferSlice {
	size := 0
	for _, p := range h.Parts {
		size += len(p)
	}
	head := make([]byte, 0, len(h.ContentType)+16)
	head = appendString(head, 1, h.ContentType)
	if size > 0 {
		head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.BytesType), uint64(size))
	}
	out := make(mem.BufferSlice, 0, 1+len(h.Parts))
	out = append(out, mem.SliceBuffer(head))
	for _, p := range h.Parts {
		if len(p) > 0 {
			out = append(out, mem.SliceBuffer(p))
		}
	}
	return out
}

// Unmarshal decodes data into one piece, which is a copy.
func (h *HTTPBody) Unmarshal(data []byte) error {
	return fieldsOf("HttpBody", data, func(n protowire.Number, v []byte, _ uint64) error {
		switch n {
		case 1:
			h.ContentType = string(v)
		case 2:
			h.Parts = [][]byte{append([]byte(nil), v...)}
		}
		return nil
	})
}

// fieldSize is the size of a length-delimited field with a one-byte tag; an empty one is left out.
func fieldSize(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + protowire.SizeBytes(n)
}
