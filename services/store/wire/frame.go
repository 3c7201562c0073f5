package wire

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

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
	return &Frame{Out: mem.BufferSlice{mem.NewBuffer(buf, &buffers)}}
}

// Loan is a message that is received into a buffer of Pool: read it, then Return it.
type Loan struct{ buf mem.Buffer }

// Data is the message, until Return.
func (l *Loan) Data() []byte { return l.buf.ReadOnlyData() }

// Return gives the buffer back.
func (l *Loan) Return() { l.buf.Free() }

// bufferSize is that of the buffers that messages are written into: small enough to stay in a processor's cache until gRPC has
// copied it to the connection.
const bufferSize = 32 << 10

// buffers is a pool whose buffers are not cleared: they are written before they are read.
var buffers = bufferPool{sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize)
	return &b
}}}

type bufferPool struct{ sync.Pool }

func (p *bufferPool) Get(int) *[]byte { return p.Pool.Get().(*[]byte) }

// Put keeps buffers that did not grow much: the others were made for one large message.
func (p *bufferPool) Put(b *[]byte) {
	if cap(*b) >= bufferSize && cap(*b) <= 4*bufferSize {
		*b = (*b)[:0]
		p.Pool.Put(b)
	}
}

// Buffer returns an empty buffer to write a message into, which may grow.
func Buffer() *[]byte { return buffers.Get(0) }

// Pieces is a message in the making that may be large: it is put together from buffers.
type Pieces struct {
	done mem.BufferSlice
	buf  *[]byte
	size int
}

// Open is the buffer to append to next.
func (p *Pieces) Open() *[]byte {
	if p.buf != nil && len(*p.buf) >= bufferSize-4<<10 {
		p.close()
	}
	if p.buf == nil {
		p.buf = Buffer()
	}
	return p.buf
}

func (p *Pieces) close() {
	p.size += len(*p.buf)
	p.done = append(p.done, mem.NewBuffer(p.buf, &buffers))
	p.buf = nil
}

// Share adds buffers that others have too and that nobody changes. Many messages that are made of the same few bytes find them in
// the processor's cache; copies would have to be fetched.
func (p *Pieces) Share(shared mem.BufferSlice) {
	if p.buf != nil {
		p.close()
	}
	p.size += shared.Len()
	p.done = append(slices.Grow(p.done, len(shared)), shared...)
}

// Size is the number of bytes so far.
func (p *Pieces) Size() int {
	if p.buf == nil {
		return p.size
	}
	return p.size + len(*p.buf)
}

// Frame is the message; the pieces can be used for another one.
func (p *Pieces) Frame() *Frame {
	if p.buf != nil {
		p.close()
	}
	f := &Frame{Out: p.done}
	*p = Pieces{}
	return f
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
		b, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		return mem.BufferSlice{mem.SliceBuffer(b)}, nil
	}
	return nil, fmt.Errorf("the store's protocol has no message of type %T", v)
}

// Unmarshal reads a frame or a generated message.
func (Codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *Frame:
		m.Data = materialize(data)
		return nil
	case *Loan:
		m.buf = data.MaterializeToBuffer(Pool)
		return nil
	case proto.Message:
		buf := data.MaterializeToBuffer(Pool)
		defer buf.Free()
		return proto.Unmarshal(buf.ReadOnlyData(), m)
	}
	return fmt.Errorf("the store's protocol has no message of type %T", v)
}

// materialize copies a message into memory of its own. Messages have up to a megabyte: a make would first clear memory that is then
// written anyway, as much work again as the copy, and what a strings.Builder allocates is not cleared.
func materialize(data mem.BufferSlice) []byte {
	n := data.Len()
	if n == 0 {
		return nil
	}
	var b strings.Builder
	b.Grow(n)
	for _, piece := range data {
		b.Write(piece.ReadOnlyData())
	}
	return bytesOf(&b)
}

// join copies both into one piece of memory.
func join(x, y []byte) []byte {
	var b strings.Builder
	b.Grow(len(x) + len(y))
	b.Write(x)
	b.Write(y)
	return bytesOf(&b)
}

// bytesOf is what b holds, without a copy; nobody else has the string.
func bytesOf(b *strings.Builder) []byte {
	s := b.String()
	return unsafe.Slice(unsafe.StringData(s), len(s))
}
