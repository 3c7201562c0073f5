package wire

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// Frame is a message that is encoded already. Sent, its buffers go out as they are and are given back to their pools; received,
// Data is the whole message in memory of its own.
type Frame struct {
	Out  mem.BufferSlice
	Data []byte
}

// NewFrame is a message to send whose bytes were put into a buffer from [Buffer].
func NewFrame(buf *[]byte) *Frame {
	return &Frame{Out: mem.BufferSlice{mem.NewBuffer(buf, mem.DefaultBufferPool())}}
}

// Buffer returns an empty buffer from gRPC's pool with room for n bytes. It may grow: then the pool gets back what it became.
func Buffer(n int) *[]byte {
	buf := mem.DefaultBufferPool().Get(n)
	*buf = (*buf)[:0]
	return buf
}

// Codec lets frames and generated messages share a connection: on the wire nothing differs. Both sides of the store's
// protocol use it.
type Codec struct{}

var _ encoding.CodecV2 = Codec{}

// Name is "proto".
func (Codec) Name() string { return "proto" }

// Marshal encodes a frame or a generated message.
func (Codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *Frame:
		return m.Out, nil
	case proto.Message:
		buf := Buffer(proto.Size(m))
		b, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(*buf, m)
		if err != nil {
			return nil, err
		}
		*buf = b
		return mem.BufferSlice{mem.NewBuffer(buf, mem.DefaultBufferPool())}, nil
	}
	return nil, fmt.Errorf("the store's protocol has no message of type %T", v)
}

// Unmarshal reads a frame or a generated message.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *Frame:
		m.Data = data.Materialize()
		return nil
	case proto.Message:
		buf := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer buf.Free()
		return proto.Unmarshal(buf.ReadOnlyData(), m)
	}
	return fmt.Errorf("the store's protocol has no message of type %T", v)
}
