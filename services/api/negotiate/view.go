package negotiate

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// Document is the entry as this kind: converted when the kind is another view of the stored one.
func (v *View) Document(e *object.Entry) (Document, error) {
	if v.Kind.Alias == nil {
		return Document{GVK: v.GVK, Object: e.Object, entry: e}, nil
	}
	obj, err := v.Kind.Alias.FromStored(e.Object)
	if err != nil {
		return Document{}, apierrors.NewInternalError(fmt.Errorf("showing %s as %s: %w", e.Key, v.GVK, err))
	}
	obj.SetResourceVersion(e.Object.GetResourceVersion())
	return Plain(obj, v.GVK), nil
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
	d, err := v.Document(e)
	if err != nil {
		return nil, err
	}
	return d.Encode(f)
}
