package wire

import (
	"fmt"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Buffered is a message that is already encoded, in pieces that several sends may share; see Body and Event.
type Buffered interface{ Buffers() mem.BufferSlice }

// Marshaler and Unmarshaler are the protobuf methods of the k8s.io/api types and of the envelopes here.
type Marshaler interface {
	Size() int
	MarshalToSizedBuffer(data []byte) (int, error)
}

// Unmarshaler decodes into the receiver, which must not keep data.
type Unmarshaler interface{ Unmarshal(data []byte) error }

type appender interface{ AppendWire(b []byte) []byte }

// Codec is the gRPC codec of all services; install it with grpc.ForceServerCodecV2 and grpc.ForceCodecV2. Its name is
// "proto": on the wire nothing differs from generated messages.
type Codec struct{}

// Name is "proto".
func (Codec) Name() string { return "proto" }

// Marshal encodes v.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case Buffered:
		return m.Buffers(), nil
	case appender:
		return mem.BufferSlice{mem.SliceBuffer(m.AppendWire(nil))}, nil
	case proto.Message:
		b, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	case Marshaler:
		b := make([]byte, m.Size())
		n, err := m.MarshalToSizedBuffer(b)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b[len(b)-n:])}, nil
	}
	return nil, fmt.Errorf("wire: cannot encode a %T", v)
}

// Unmarshal decodes data into v.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*Body); ok {
		// Raw keeps its bytes, so it needs a copy of its own.
		r.Data = data.Materialize()
		return nil
	}
	buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buf.Free()
	switch m := v.(type) {
	case proto.Message:
		return proto.Unmarshal(buf.ReadOnlyData(), m)
	case Unmarshaler:
		return m.Unmarshal(buf.ReadOnlyData())
	}
	return fmt.Errorf("wire: cannot decode into a %T", v)
}

// Body is a whole message as it stands on the wire, in one piece (Data) or in several (Parts, used instead when set).
// Sending it copies nothing; whoever fills it must not change the bytes afterwards.
type Body struct {
	Data  []byte
	Parts [][]byte
}

// Buffers implements Buffered.
func (b *Body) Buffers() mem.BufferSlice {
	if b.Parts == nil {
		return mem.BufferSlice{mem.SliceBuffer(b.Data)}
	}
	out := make(mem.BufferSlice, len(b.Parts))
	for i, p := range b.Parts {
		out[i] = mem.SliceBuffer(p)
	}
	return out
}
