package negotiate

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// Frames encodes the events of one watch. JSON frames are lines; protobuf frames are messages behind their length in four bytes,
// big endian. Not for concurrent use.
type Frames struct {
	view   *View
	format Format
	sent   bool
}

// NewFrames begins a watch in f.
func (v *View) NewFrames(f Format) *Frames { return &Frames{view: v, format: f} }

// Event is the frame of e in pieces. Whole objects go out as their entries hold them; metadata, which must be computed, is kept
// at the event, where the other watchers with the same format find it.
func (w *Frames) Event(e endpoint.WatchEvent) ([][]byte, error) {
	if e.Bookmark != nil {
		return w.bookmark(e.Bookmark)
	}
	first := !w.sent
	w.sent = true
	v := w.view
	if w.format.As == "" {
		return w.frame(e.Type, v.Document(e.Entry))
	}
	if w.format.As == AsTable {
		// Rows tell ages, which are those of now, and are watched by people, of whom there are few: not kept.
		return w.shown(e, first)
	}
	b, err := e.Event.Frame(object.FrameKey{Format: w.format.key(), Type: e.Type}, func() ([]byte, error) { return w.build(e, first) })
	return [][]byte{b}, err
}

func (w *Frames) build(e endpoint.WatchEvent, first bool) ([]byte, error) {
	parts, err := w.shown(e, first)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, total(parts))
	for _, p := range parts {
		b = append(b, p...)
	}
	return b, nil
}

func (w *Frames) shown(e endpoint.WatchEvent, first bool) ([][]byte, error) {
	if w.format.As == AsTable {
		// The first event alone has the columns.
		b, err := w.view.tableOf(w.format, e.Entry, first)
		if err != nil {
			return nil, err
		}
		return jsonFrame(e.Type, b), nil
	}
	m := partial(e.Entry)
	if w.format.MediaType == Protobuf {
		parts, err := m.proto()
		if err != nil {
			return nil, err
		}
		return protoFrame(e.Type, partialGVK, parts), nil
	}
	b, err := m.json()
	if err != nil {
		return nil, err
	}
	return jsonFrame(e.Type, b), nil
}

func (w *Frames) frame(t watch.EventType, d Document) ([][]byte, error) {
	if w.format.MediaType == Protobuf {
		parts, err := d.Proto()
		if err != nil {
			return nil, err
		}
		return protoFrame(t, d.GVK, parts), nil
	}
	b, err := d.JSON()
	if err != nil {
		return nil, err
	}
	return jsonFrame(t, b), nil
}

// Error is the ERROR frame that ends a watch.
func (w *Frames) Error(s metav1.Status) ([][]byte, error) { return w.frame(watch.Error, Status(&s)) }

func (w *Frames) bookmark(b *endpoint.Bookmark) ([][]byte, error) {
	switch w.format.As {
	case AsTable:
		t := fmt.Appendf(nil, tableHead+`{"resourceVersion":"%d"},"columnDefinitions":null,"rows":[]}`, b.Revision)
		return jsonFrame(watch.Bookmark, t), nil
	case AsPartial, AsPartialList:
		p := &metav1.PartialObjectMetadata{}
		MarkBookmark(p, b)
		return w.frame(watch.Bookmark, Plain(p, partialGVK))
	}
	obj := w.view.Kind.New()
	MarkBookmark(obj, b)
	return w.frame(watch.Bookmark, Plain(obj, w.view.GVK))
}

// MarkBookmark gives an empty object what a bookmark says.
func MarkBookmark(obj metav1.Object, b *endpoint.Bookmark) {
	obj.SetResourceVersion(strconv.FormatInt(b.Revision, 10))
	if b.InitialEventsEnd {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
}

var frameEnd = []byte("}\n")

// frameHeads is {"type":"X","object": for each type.
var frameHeads = func() map[watch.EventType][]byte {
	m := map[watch.EventType][]byte{}
	for _, t := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		name, _ := json.Marshal(string(t))
		m[t] = fmt.Appendf(nil, `{"type":%s,"object":`, name)
	}
	return m
}()

func jsonFrame(t watch.EventType, object []byte) [][]byte {
	return [][]byte{frameHeads[t], object, frameEnd}
}

// protoFrame is WatchEvent{1 type, 2 RawExtension{1 raw}} with the object in its REST envelope, behind its length.
func protoFrame(t watch.EventType, gvk schema.GroupVersionKind, parts [][]byte) [][]byte {
	size := total(parts)
	raw := envelopeSize(gvk, size)
	extension := 1 + protowire.SizeBytes(raw)
	whole := 1 + protowire.SizeBytes(len(t)) + 1 + protowire.SizeBytes(extension)
	head := make([]byte, 0, 128)
	head = binary.BigEndian.AppendUint32(head, uint32(whole))
	head = protowire.AppendString(protowire.AppendTag(head, 1, protowire.BytesType), string(t))
	head = protowire.AppendVarint(protowire.AppendTag(head, 2, protowire.BytesType), uint64(extension))
	head = protowire.AppendVarint(protowire.AppendTag(head, 1, protowire.BytesType), uint64(raw))
	head = envelopeHead(head, gvk, size)
	out := make([][]byte, 0, len(parts)+2)
	return append(append(append(out, head), parts...), unknownTail)
}
