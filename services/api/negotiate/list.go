package negotiate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// pieceSize is about how much of a list goes out at a time: large enough that the cost of a message does not show, small
// enough that a reader starts at once and nothing holds the whole.
const pieceSize = 128 << 10

// pieces gathers slices and hands them on once there are enough.
type pieces struct {
	parts [][]byte
	size  int
	send  func(parts [][]byte) error
}

func (p *pieces) add(parts ...[]byte) error {
	p.parts = append(p.parts, parts...)
	for _, b := range parts {
		p.size += len(b)
	}
	if p.size < pieceSize {
		return nil
	}
	return p.flush()
}

func (p *pieces) flush() error {
	if p.size == 0 {
		return nil
	}
	parts := p.parts
	// The receiver may keep the slice, so it is not used again.
	p.parts, p.size = make([][]byte, 0, len(parts)), 0
	return p.send(parts)
}

// List encodes a list in f and hands it to send piece by piece.
func (v *View) List(f Format, l *endpoint.ListResult, send func(parts [][]byte) error) error {
	if f.MediaType == YAML || f.Pretty {
		// For people: built whole, then turned into the other form.
		var whole bytes.Buffer
		inner := f
		inner.MediaType, inner.Pretty = JSON, false
		if err := v.List(inner, l, func(parts [][]byte) error {
			for _, p := range parts {
				whole.Write(p)
			}
			return nil
		}); err != nil {
			return err
		}
		parts, err := encodeJSON(f, bytes.TrimSuffix(whole.Bytes(), newline))
		if err != nil {
			return err
		}
		return send(parts)
	}
	out := &pieces{send: send}
	var err error
	switch {
	case f.MediaType == Protobuf:
		err = v.protoList(f, l, out)
	case f.As == AsTable:
		err = v.tableList(f, l, out)
	default:
		err = v.jsonList(f, l, out)
	}
	if err != nil {
		return err
	}
	return out.flush()
}

var openItem, comma = []byte{'{'}, []byte{','}

func (v *View) jsonList(f Format, l *endpoint.ListResult, out *pieces) error {
	gvk := v.GVK.GroupVersion().WithKind(v.Kind.ListKind())
	partials := f.As == AsPartial || f.As == AsPartialList
	if partials {
		gvk = partialListGVK
	}
	m, err := listMeta(l)
	if err != nil {
		return err
	}
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[`, gvk.Kind, gvk.GroupVersion(), m)
	if err := out.add(head); err != nil {
		return err
	}
	for i, e := range l.Entries {
		if i > 0 {
			out.parts, out.size = append(out.parts, comma), out.size+1
		}
		var b []byte
		if partials {
			b, err = partial(e).json()
		} else {
			b, err = e.JSON()
		}
		if err != nil {
			return err
		}
		// An item of a typed list leaves apiVersion and kind to the list.
		if rest, ok := bytes.CutPrefix(b, v.typePrefix); ok && !partials {
			err = out.add(openItem, rest)
		} else {
			err = out.add(b)
		}
		if err != nil {
			return err
		}
	}
	return out.add([]byte("]}\n"))
}

func (v *View) protoList(f Format, l *endpoint.ListResult, out *pieces) error {
	gvk := v.GVK.GroupVersion().WithKind(v.Kind.ListKind())
	partials := f.As == AsPartial || f.As == AsPartialList
	if partials {
		gvk = partialListGVK
	}
	message, err := v.listMessage(l, partials)
	if err != nil {
		return err
	}
	if err := out.add(envelopeHead(nil, gvk, total(message))); err != nil {
		return err
	}
	for _, p := range message {
		if err := out.add(p); err != nil {
			return err
		}
	}
	return out.add(unknownTail)
}

// Message is the kind's list message {1 metadata, 2 items} in pieces, made of the entries' own encodings.
func (v *View) Message(l *endpoint.ListResult) ([][]byte, error) { return v.listMessage(l, false) }

func (v *View) listMessage(l *endpoint.ListResult, partials bool) ([][]byte, error) {
	m := ListMeta(l)
	size := m.Size()
	head := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.BytesType), uint64(size))
	at := len(head)
	head = append(head, make([]byte, size)...)
	if _, err := m.MarshalToSizedBuffer(head[at:]); err != nil {
		return nil, fmt.Errorf("encoding a list's metadata: %w", err)
	}
	out := make([][]byte, 1, 1+3*len(l.Entries))
	out[0] = head
	// All items' tags and lengths share one allocation.
	frames := make([]byte, 0, 6*len(l.Entries))
	for _, e := range l.Entries {
		parts := e.Proto()
		if partials {
			var err error
			if parts, err = partial(e).proto(); err != nil {
				return nil, err
			}
		}
		at := len(frames)
		frames = protowire.AppendVarint(protowire.AppendTag(frames, 2, protowire.BytesType), uint64(total(parts)))
		out = append(append(out, frames[at:len(frames):len(frames)]), parts...)
	}
	return out, nil
}

// ListMeta is a list's metadata.
func ListMeta(l *endpoint.ListResult) metav1.ListMeta {
	return metav1.ListMeta{
		ResourceVersion: strconv.FormatInt(l.Revision, 10), Continue: l.Continue, RemainingItemCount: l.RemainingItemCount,
	}
}

func listMeta(l *endpoint.ListResult) ([]byte, error) {
	b, err := json.Marshal(ListMeta(l))
	if err != nil {
		return nil, fmt.Errorf("encoding a list's metadata: %w", err)
	}
	return b, nil
}

// Entries are encoded as a list without a revision: what a deletecollection deleted.
func (v *View) Entries(f Format, entries []*object.Entry, send func(parts [][]byte) error) error {
	l := &endpoint.ListResult{Entries: entries}
	for _, e := range entries {
		l.Revision = max(l.Revision, e.Revision)
	}
	return v.List(f, l, send)
}

// ListGVK is the kind of the list.
func (v *View) ListGVK() schema.GroupVersionKind {
	return v.GVK.GroupVersion().WithKind(v.Kind.ListKind())
}
