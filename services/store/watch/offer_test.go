package watch

import "testing"

// A revision of several keys is offered several times. Next taking the list between two offers must not make it come twice.
func TestRevisionOfManyKeysIsTakenOnce(t *testing.T) {
	w := &Watcher{signal: make(chan struct{}, 1), synced: true}
	w.offer(7)
	w.mu.Lock()
	first := w.take()
	w.mu.Unlock()
	w.offer(7)
	w.offer(8)
	w.mu.Lock()
	defer w.mu.Unlock()
	if second := w.take(); len(first) != 1 || first[0] != 7 || len(second) != 1 || second[0] != 8 {
		t.Errorf("took %v, then %v; want [7], then [8]", first, second)
	}
}
