package informer

import (
	"sync"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// IndexFunc returns the values under which an object is found in an index.
type IndexFunc[T apiclient.Object] func(obj T) []string

// Key is an object's key: "namespace/name", or "name" for a cluster-scoped object.
func Key(obj interface {
	GetNamespace() string
	GetName() string
}) string {
	if ns := obj.GetNamespace(); ns != "" {
		return ns + "/" + obj.GetName()
	}
	return obj.GetName()
}

// ByNamespace is the index of that name that every informer has.
const ByNamespace = "namespace"

// store is the local copy. Objects in it are shared and must not be changed.
type store[T apiclient.Object] struct {
	mu      sync.RWMutex
	objects map[string]T
	funcs   map[string]IndexFunc[T]
	indexes map[string]map[string]map[string]T
}

func newStore[T apiclient.Object](funcs map[string]IndexFunc[T]) *store[T] {
	s := &store[T]{objects: map[string]T{}, funcs: map[string]IndexFunc[T]{}, indexes: map[string]map[string]map[string]T{}}
	for name, f := range funcs {
		s.funcs[name] = f
	}
	s.funcs[ByNamespace] = func(obj T) []string { return []string{obj.GetNamespace()} }
	for name := range s.funcs {
		s.indexes[name] = map[string]map[string]T{}
	}
	return s
}

// set stores obj and returns what was there before.
func (s *store[T]) set(key string, obj T) (old T, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, had = s.objects[key]; had {
		s.unindex(key, old)
	}
	s.objects[key] = obj
	s.index(key, obj)
	return old, had
}

// replace puts fresh in the place of everything, in one step, and returns what was there.
func (s *store[T]) replace(fresh map[string]T) (before map[string]T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.objects
	s.objects = make(map[string]T, len(fresh))
	for name := range s.funcs {
		s.indexes[name] = map[string]map[string]T{}
	}
	for key, obj := range fresh {
		s.objects[key] = obj
		s.index(key, obj)
	}
	return before
}

func (s *store[T]) index(key string, obj T) {
	for name, f := range s.funcs {
		for _, v := range f(obj) {
			set := s.indexes[name][v]
			if set == nil {
				set = map[string]T{}
				s.indexes[name][v] = set
			}
			set[key] = obj
		}
	}
}

func (s *store[T]) remove(key string) (old T, had bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, had = s.objects[key]; had {
		s.unindex(key, old)
		delete(s.objects, key)
	}
	return old, had
}

func (s *store[T]) unindex(key string, obj T) {
	for name, f := range s.funcs {
		for _, v := range f(obj) {
			set := s.indexes[name][v]
			delete(set, key)
			if len(set) == 0 {
				delete(s.indexes[name], v)
			}
		}
	}
}

func (s *store[T]) get(key string) (T, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	obj, ok := s.objects[key]
	return obj, ok
}

func (s *store[T]) list() []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return values(s.objects)
}

func (s *store[T]) byIndex(name, value string) []T {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return values(s.indexes[name][value])
}

func (s *store[T]) len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.objects)
}

func values[T any](m map[string]T) []T {
	out := make([]T, 0, len(m))
	for _, obj := range m {
		out = append(out, obj)
	}
	return out
}
