package negotiate

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
)

// View shows the entries of one kind to clients.
type View struct {
	Kind *registry.Kind
	GVK  schema.GroupVersionKind
	// typePrefix is how every entry's JSON begins; list items leave it out.
	typePrefix []byte
	columns    func() []byte
}

// NewView makes the view of a kind.
func NewView(k *registry.Kind) *View {
	v := &View{Kind: k, GVK: schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind.Kind}}
	v.typePrefix = []byte(fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, v.GVK.Kind, v.GVK.GroupVersion()))
	v.columns = sync.OnceValue(v.columnsJSON)
	return v
}

// Document is the entry as a document.
func (v *View) Document(e *object.Entry) Document {
	return Document{GVK: v.GVK, Object: e.Object, entry: e}
}

// Encode is the body for one entry in f: the object or the view that f asks for.
func (v *View) Encode(f Format, e *object.Entry) ([][]byte, error) {
	switch f.As {
	case AsTable:
		b, err := v.table(f, e)
		if err != nil {
			return nil, err
		}
		return encodeJSON(f, b)
	case AsPartial, AsPartialList:
		return partial(e).Encode(f)
	}
	return v.Document(e).Encode(f)
}
