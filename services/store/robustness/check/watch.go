package check

import (
	"fmt"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// Guarantee is one promise of a watch.
type Guarantee struct {
	Name  string
	Check func(*history.Watch, *history.Timeline) []string
}

// Guarantees of a watch, by the names that etcd gives them.
var Guarantees = []Guarantee{
	{"ordered", Ordered}, {"unique", Unique}, {"atomic", Atomic}, {"reliable", Reliable}, {"resumable", Resumable},
	{"bookmarkable", Bookmarkable}, {"filtered", Filtered}, {"prev value", PrevValue},
}

// Ordered: events come in the order of their revisions.
func Ordered(w *history.Watch, _ *history.Timeline) (found []string) {
	last, said := int64(0), int64(0)
	for _, r := range w.Responses {
		for i := range r.Events {
			if e := &r.Events[i]; e.Rev < last {
				found = append(found, fmt.Sprintf("revision %d came after %d", e.Rev, last))
			} else {
				last = e.Rev
			}
		}
		if r.Revision < said || r.Revision < last {
			found = append(found, fmt.Sprintf("a response says revision %d after one of %d and events of %d", r.Revision, said, last))
		}
		said = max(said, r.Revision)
	}
	return found
}

// Unique: no event comes twice.
func Unique(w *history.Watch, _ *history.Timeline) (found []string) {
	type id struct {
		rev int64
		key string
	}
	seen := map[id]bool{}
	for _, r := range w.Responses {
		for i := range r.Events {
			k := id{r.Events[i].Rev, r.Events[i].Key}
			if seen[k] {
				found = append(found, fmt.Sprintf("the change of %s at revision %d came twice", k.key, k.rev))
			}
			seen[k] = true
		}
	}
	return found
}

// Atomic: the changes of one revision come in one response.
func Atomic(w *history.Watch, t *history.Timeline) (found []string) {
	in := map[int64]int{}
	for n, r := range w.Responses {
		count := map[int64]int{}
		for i := range r.Events {
			rev := r.Events[i].Rev
			count[rev]++
			if before, ok := in[rev]; ok && before != n {
				found = append(found, fmt.Sprintf("revision %d is split over two responses", rev))
			}
			in[rev] = n
		}
		for rev, have := range count {
			if want := len(wanted(w, t.At(rev))); have != want {
				found = append(found, fmt.Sprintf("revision %d came with %d of its %d changes", rev, have, want))
			}
		}
	}
	return found
}

func wanted(w *history.Watch, c *history.Change) (out []*history.Event) {
	if c == nil {
		return nil
	}
	for i := range c.Events {
		if w.Wants(&c.Events[i]) {
			out = append(out, &c.Events[i])
		}
	}
	return out
}

// Reliable: from its first revision up to the last that it claims to have delivered, a watch tells of every change that it
// covers, as it was.
func Reliable(w *history.Watch, t *history.Timeline) (found []string) {
	told := map[int64][]*history.Event{}
	upTo := int64(0)
	for _, r := range w.Responses {
		upTo = max(upTo, r.Revision)
		for i := range r.Events {
			e := &r.Events[i]
			told[e.Rev] = append(told[e.Rev], e)
			if c := t.At(e.Rev); c == nil && e.Rev > t.Base {
				found = append(found, fmt.Sprintf("revision %d (%s) never was", e.Rev, e.Key))
			}
		}
	}
	for rev := max(w.Start, t.Base+1); rev <= min(upTo, t.Last); rev++ {
		for _, want := range wanted(w, t.At(rev)) {
			ok := false
			for _, e := range told[rev] {
				ok = ok || e.Key == want.Key && e.Deleted == want.Deleted && e.KV == want.KV
			}
			if !ok {
				found = append(found, fmt.Sprintf("revision %d of %s was left out, or told as another thing, though the watch says that it is complete up to %d", rev, want.Key, upTo))
			}
		}
	}
	return found
}

// Resumable: a watch that starts at a revision begins with the first change from there on, whether it is past or to come.
func Resumable(w *history.Watch, t *history.Timeline) (found []string) {
	for _, r := range w.Responses {
		if len(r.Events) == 0 {
			continue
		}
		first := r.Events[0].Rev
		if first < w.Start {
			return []string{fmt.Sprintf("it began with revision %d, before its start %d", first, w.Start)}
		}
		for rev := max(w.Start, t.Base+1); rev < first; rev++ {
			if len(wanted(w, t.At(rev))) > 0 {
				return []string{fmt.Sprintf("it started at %d and began with revision %d, but %d is what it should have begun with", w.Start, first, rev)}
			}
		}
		return nil
	}
	return nil
}

// Bookmarkable: a progress notice, and the revision of any response, means that everything up to it has been delivered:
// nothing at or before it comes later.
func Bookmarkable(w *history.Watch, t *history.Timeline) (found []string) {
	mark := int64(0)
	for _, r := range w.Responses {
		for i := range r.Events {
			if rev := r.Events[i].Rev; rev <= mark {
				found = append(found, fmt.Sprintf("revision %d came after everything up to %d was said to be delivered", rev, mark))
			}
		}
		mark = max(mark, r.Revision)
		if r.Revision > t.Last {
			found = append(found, fmt.Sprintf("progress up to revision %d, which never was", r.Revision))
		}
	}
	return found
}

// Filtered: only events of the keys and kinds asked for come.
func Filtered(w *history.Watch, _ *history.Timeline) (found []string) {
	for _, r := range w.Responses {
		for i := range r.Events {
			if e := &r.Events[i]; !w.Wants(e) {
				found = append(found, fmt.Sprintf("it was told of %s at revision %d (deleted: %v), which it did not ask for", e.Key, e.Rev, e.Deleted))
			}
		}
	}
	return found
}

// PrevValue: a change comes with the version before it when, and only when, that was asked for.
func PrevValue(w *history.Watch, t *history.Timeline) (found []string) {
	for _, r := range w.Responses {
		for i := range r.Events {
			e := &r.Events[i]
			if e.Rev <= t.Base {
				continue
			}
			var want *history.KV
			if w.PrevKV {
				want = t.Get(e.Key, e.Rev-1)
			}
			if (want == nil) != (e.Prev == nil) || want != nil && *want != *e.Prev {
				found = append(found, fmt.Sprintf("revision %d of %s came with previous version %+v, it was %+v", e.Rev, e.Key, e.Prev, want))
			}
		}
	}
	return found
}

// alive checks that a watch lived through the round.
func alive(w *history.Watch, r *history.Round) (found []string) {
	if w.Stalled != "" {
		found = append(found, w.Stalled)
	}
	if w.Ended != "" && !(w.Expired && r.Compacts) {
		found = append(found, "it was ended: "+w.Ended)
	}
	return found
}
