package endpoint

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orrery-io/orrery/services/api/object"
)

// view is the entry as this kind shows it: itself unless the kind is an alias.
func (e *Endpoint) view(stored *object.Entry) (*object.Entry, error) {
	if e.kind.Alias == nil || stored == nil {
		return stored, nil
	}
	return stored.View(e.convert)
}

func (e *Endpoint) convert(stored *object.Entry) (*object.Entry, error) {
	obj, err := e.kind.Alias.FromStored(stored.Object)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("showing %s as %s: %w", stored.Key, e.shown.Kind(), err))
	}
	_, encoded, err := e.shown.Encode(obj)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	v := e.shown.Entry(stored.Key, stored.Revision, obj, encoded)
	v.TraceParent = stored.TraceParent
	return v, nil
}

// toStored is the object in the kind that is stored.
func (e *Endpoint) toStored(obj object.Object) (object.Object, error) {
	if e.kind.Alias == nil || obj == nil {
		return obj, nil
	}
	stored, err := e.kind.Alias.ToStored(obj)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("storing a %s: %v", e.shown.Kind(), err))
	}
	return stored, nil
}

// aliasWatch shows a watch of the stored kind as this kind.
type aliasWatch struct {
	Watch
	endpoint *Endpoint
}

func (w aliasWatch) Next(ctx context.Context) (WatchEvent, error) {
	e, err := w.Watch.Next(ctx)
	if err != nil || e.Event == nil {
		return e, err
	}
	if e.Event, err = e.Event.View(w.endpoint.convert); err != nil {
		return WatchEvent{}, err
	}
	e.Entry = e.Event.Shown(e.Type)
	return e, nil
}
