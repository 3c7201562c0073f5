package raftnode

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/hashicorp/raft"
	wal "github.com/hashicorp/raft-wal"
)

// walCodecID marks the segments whose entries walCodec wrote.
const walCodecID = wal.FirstExternalCodecID

// walCodec writes entries as the library's own codec does, but into a buffer that has room for the whole entry: the library's
// begins with a few bytes and is copied as it grows.
type walCodec struct{ wal.BinaryCodec }

// ID implements wal.Codec.
func (*walCodec) ID() uint64 { return walCodecID }

// Encode implements wal.Codec.
func (c *walCodec) Encode(l *raft.Log, w io.Writer) error {
	// Five numbers, the data, the extensions, and a time, of 16 bytes at most.
	if b, ok := w.(*bytes.Buffer); ok {
		b.Grow(5*binary.MaxVarintLen64 + len(l.Data) + len(l.Extensions) + 16)
	}
	return c.BinaryCodec.Encode(l, w)
}

// codec is the one that the log is to be opened with, nil for the library's: the library wants the same for all segments, so a log
// that was begun with that one keeps it.
func (m *walMeta) codec() wal.Codec {
	if s := m.Log.Segments; len(s) > 0 && s[0].Codec == wal.CodecBinaryV1 {
		return nil
	}
	return &walCodec{}
}
