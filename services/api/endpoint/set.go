package endpoint

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/admission"
	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/registry"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/api/watchcache"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// Set is the endpoints of all kinds that are stored.
type Set struct {
	hub        *watchcache.Hub
	store      *storage.Store
	admit      *admission.Chain
	clock      clock.PassiveClock
	tracer     trace.Tracer
	byResource map[schema.GroupVersionResource]*Endpoint
}

// CacheTypes is what the Hub has to hold for the kinds.
func CacheTypes(kinds []*registry.Kind) []watchcache.Type {
	var types []watchcache.Type
	for _, k := range kinds {
		if k.NotStored || k.Alias != nil {
			continue
		}
		types = append(types, watchcache.Type{
			Resource: schema.GroupResource{Group: k.Group, Resource: k.Plural}, Prefix: k.Prefix(), Namespaced: k.Namespaced,
			Codec: storage.NewCodec(schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind.Kind}, k.New), IndexValue: k.IndexValue,
		})
	}
	return types
}

// NewSet makes an endpoint for each kind that is stored. hub has the kinds' CacheTypes; admit may be nil.
func NewSet(kinds []*registry.Kind, hub *watchcache.Hub, store *storage.Store, admit *admission.Chain, c clock.PassiveClock) *Set {
	s := &Set{hub: hub, store: store, admit: admit, clock: c, tracer: telemetry.Tracer("api"), byResource: make(map[schema.GroupVersionResource]*Endpoint, len(kinds))}
	for _, k := range kinds {
		cache := hub.Cache(k.Prefix())
		if k.NotStored || cache == nil {
			continue
		}
		s.byResource[schema.GroupVersionResource{Group: k.Group, Version: k.Version, Resource: k.Plural}] = newEndpoint(s, k, cache)
	}
	return s
}

// Find is the endpoint of a resource; false when there is none, or nothing of it is stored.
func (s *Set) Find(group, version, resource string) (*Endpoint, bool) {
	e, ok := s.byResource[schema.GroupVersionResource{Group: group, Version: version, Resource: resource}]
	return e, ok
}

// Endpoint is one kind's verbs: Interface.
type Endpoint struct {
	set   *Set
	kind  *registry.Kind
	cache *watchcache.Cache
	// codec is that of the stored kind; shown that of this kind, another one for an alias.
	codec, shown *storage.Codec
	shape        shape

	resource schema.GroupResource
	group    schema.GroupKind
}

var _ Interface = (*Endpoint)(nil)

func newEndpoint(s *Set, k *registry.Kind, cache *watchcache.Cache) *Endpoint {
	gvk := schema.GroupVersionKind{Group: k.Group, Version: k.Version, Kind: k.Kind.Kind}
	e := &Endpoint{
		set: s, kind: k, cache: cache, codec: cache.Type().Codec, shown: cache.Type().Codec, shape: shapeOf(k.New()),
		resource: schema.GroupResource{Group: k.Group, Resource: k.Plural}, group: gvk.GroupKind(),
	}
	if k.Alias != nil {
		e.shown = storage.NewCodec(gvk, k.New)
	}
	return e
}

// Kind is the registry's entry.
func (e *Endpoint) Kind() *registry.Kind { return e.kind }

func (e *Endpoint) key(namespace, name string) string {
	return storage.Key(e.cache.Type().Prefix, namespace, name)
}

func (e *Endpoint) notFound(name string) error { return apierrors.NewNotFound(e.resource, name) }

// fail makes a *StatusError of what a write ended with.
func (e *Endpoint) fail(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, storage.ErrNotFound):
		return e.notFound(name)
	case errors.Is(err, storage.ErrExists):
		return apierrors.NewAlreadyExists(e.resource, name)
	}
	return watchcache.StoreError(err)
}

// Namespaces looks namespaces up for admission.
func Namespaces(hub *watchcache.Hub, store *storage.Store) admission.Namespaces {
	return namespaces{hub.Cache(namespacePrefix), store}
}

const namespacePrefix = storage.Root + "namespaces/"

type namespaces struct {
	cache *watchcache.Cache
	store *storage.Store
}

func (n namespaces) Cached(name string) *corev1.Namespace {
	return asNamespace(n.cache.Peek(storage.Key(namespacePrefix, "", name)))
}

func (n namespaces) Current(ctx context.Context, name string) (*corev1.Namespace, error) {
	e, err := n.store.Get(ctx, n.cache.Type().Codec, storage.Key(namespacePrefix, "", name))
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, watchcache.StoreError(err)
	}
	return asNamespace(e), nil
}

func asNamespace(e *object.Entry) *corev1.Namespace {
	if e == nil {
		return nil
	}
	ns, _ := e.Object.(*corev1.Namespace)
	return ns
}
