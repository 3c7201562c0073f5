package storage

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/orrery-io/orrery/services/api/object"
)

// Handover gives the watch cache the objects that this process writes, so that it need not decode what was decoded from the
// request, and the encodings made for the response serve the watchers too. Whether the store's answer or its
// event arrives first, both end up with the same entry.
//
// Use it only where the writers leave an object alone after its write, even one that failed.
type Handover struct {
	on      atomic.Bool
	mu      sync.Mutex
	pending map[string]*written
}

// written is one write under way, or done and not yet seen as an event.
type written struct {
	codec         *Codec
	key           string
	obj           object.Object
	value, stored []byte
	trace         string
	entry         *object.Entry
}

// Start makes writers announce what they write; somebody has to Take it.
func (h *Handover) Start() { h.on.Store(true) }

// Stop ends that.
func (h *Handover) Stop() {
	h.on.Store(false)
	h.Clear()
}

// Clear forgets what has not been taken.
func (h *Handover) Clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.pending)
}

// Take is the entry of an event if this process wrote it; nil when it did not.
func (h *Handover) Take(key []byte, revision int64, value []byte) *object.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.pending[string(key)]
	if w == nil || !bytes.Equal(w.value, value) {
		return nil
	}
	delete(h.pending, w.key)
	if w.entry == nil {
		w.makeEntry(revision)
	}
	if w.entry.Revision != revision {
		return nil
	}
	return w.entry
}

func (w *written) makeEntry(revision int64) {
	w.entry = w.codec.Entry(w.key, revision, w.obj, w.stored)
	w.entry.TraceParent = w.trace
}

// announce is called before a write.
func (h *Handover) announce(w *written) {
	if !h.on.Load() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending == nil {
		h.pending = map[string]*written{}
	}
	h.pending[w.key] = w
}

// withdraw is called after a write that failed, or whose outcome is not known.
func (h *Handover) withdraw(w *written) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pending[w.key] == w {
		delete(h.pending, w.key)
	}
}

// done is the entry of a write that became revision.
func (h *Handover) done(w *written, revision int64) *object.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.entry == nil {
		w.makeEntry(revision)
	}
	if w.entry.Revision != revision {
		// Another writer's equal bytes were taken for this write's.
		return w.entry.At(revision)
	}
	return w.entry
}
