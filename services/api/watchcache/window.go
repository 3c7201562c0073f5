package watchcache

import (
	"sort"
	"time"

	"github.com/orrery-io/orrery/services/api/object"
)

// window is the ring of the latest events. Events are numbered: number n lies in slot n modulo the capacity.
//
//	oldest          next
//	  |               |
//	  4  5  6  7  8  [9]      floor: the revision of event 3, which was the last to leave
//
// It doubles while the event that would leave is younger than age, and halves when a quarter of it would hold
// all such events.
type window struct {
	events       []*object.Event
	times        []time.Time
	oldest, next uint64
	// floor is the newest revision whose events are no longer here: a watch may resume from it or any later one.
	floor    int64
	min, max int
	age      time.Duration
}

func (w *window) at(n uint64) *object.Event { return w.events[n%uint64(len(w.events))] }

func (w *window) append(e *object.Event, now time.Time) {
	size := int(w.next - w.oldest)
	if size == len(w.events) {
		w.makeRoom(now)
	}
	i := w.next % uint64(len(w.events))
	w.events[i], w.times[i] = e, now
	w.next++
}

// makeRoom leaves at least one slot free.
func (w *window) makeRoom(now time.Time) {
	capacity := len(w.events)
	young := func(n uint64) bool { return now.Sub(w.times[n%uint64(capacity)]) < w.age }
	switch {
	case capacity == 0:
		w.resize(w.min)
	case capacity < w.max && young(w.oldest):
		w.resize(min(2*capacity, w.max))
	case capacity > w.min && !young(w.next-uint64(capacity/4)):
		for int(w.next-w.oldest) >= max(capacity/2, w.min) {
			w.drop()
		}
		w.resize(max(capacity/2, w.min))
	default:
		w.drop()
	}
}

func (w *window) drop() {
	i := w.oldest % uint64(len(w.events))
	w.floor = w.events[i].Revision
	w.events[i] = nil
	w.oldest++
}

func (w *window) resize(capacity int) {
	events, times := make([]*object.Event, capacity), make([]time.Time, capacity)
	for n := w.oldest; n < w.next; n++ {
		from, to := n%uint64(len(w.events)), n%uint64(capacity)
		events[to], times[to] = w.events[from], w.times[from]
	}
	w.events, w.times = events, times
}

// after is the number of the first event newer than revision.
func (w *window) after(revision int64) uint64 {
	size := int(w.next - w.oldest)
	i := sort.Search(size, func(i int) bool { return w.at(w.oldest+uint64(i)).Revision > revision })
	return w.oldest + uint64(i)
}

// reset empties the window.
func (w *window) reset(floor int64) {
	w.events, w.times = nil, nil
	w.oldest = w.next
	w.floor = floor
}
