package controller

import (
	"strconv"
	"sync"
)

// Written remembers, per key, the revision of the controller's own last write to what it counts. Until the cache has come that far,
// a count of it is a count of the past, and acting on it would create or delete twice. Revisions are one sequence for the
// whole store, so comparing them is enough: no event can be missed, and nothing has to expire.
type Written struct {
	mu    sync.Mutex
	byKey map[string]uint64
}

// Note records that a write for key was answered with resourceVersion.
func (w *Written) Note(key, resourceVersion string) {
	rv, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byKey == nil {
		w.byKey = map[string]uint64{}
	}
	w.byKey[key] = max(w.byKey[key], rv)
}

// Seen tells whether a cache at revision shows every write noted for key.
func (w *Written) Seen(key, revision string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.byKey[key]
	if !ok {
		return true
	}
	if rv, err := strconv.ParseUint(revision, 10, 64); err != nil || rv < last {
		return false
	}
	delete(w.byKey, key)
	return true
}

// Forget drops what is known of key.
func (w *Written) Forget(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byKey, key)
}
