package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
)

// Timeline is the log of all changes of a round: what the watches over the whole key space agree on.
type Timeline struct {
	// Base is the revision before the first change, Last that of the last.
	Base, Last int64
	changes    map[int64]*Change
	keys       map[string][]version
}

// Change is one revision.
type Change struct {
	Rev    int64
	Events []Event
	// Seen is when the first watch told of it.
	Seen int64
}

type version struct {
	rev int64
	kv  *KV // nil when deleted
}

// Build puts the timeline together from the watches that see everything. problems say where they contradict each other,
// and which revisions nobody saw.
func Build(r *Round) (t *Timeline, problems []string) {
	t = &Timeline{Base: r.Base, Last: r.Final, changes: map[int64]*Change{}, keys: map[string][]version{}}
	for _, w := range r.Watches {
		if !w.Whole() {
			continue
		}
		for _, resp := range w.Responses {
			for rev, events := range byRevision(resp.Events) {
				if rev <= t.Base {
					continue
				}
				t.Last = max(t.Last, rev)
				c := t.changes[rev]
				if c == nil {
					t.changes[rev] = &Change{Rev: rev, Events: events, Seen: resp.At}
					continue
				}
				c.Seen = min(c.Seen, resp.At)
				if diff := differ(c.Events, events); diff != "" {
					problems = append(problems, fmt.Sprintf("revision %d is another thing to watch %s than to those before it: %s", rev, w.Name, diff))
				}
			}
		}
	}
	for rev := t.Base + 1; rev <= t.Last; rev++ {
		if t.changes[rev] == nil {
			problems = append(problems, fmt.Sprintf("revision %d was told by no watch over the whole key space (the round's are %d to %d)", rev, t.Base+1, t.Last))
		}
	}
	for key, v := range r.State {
		t.keys[key] = []version{{rev: t.Base, kv: &v}}
	}
	for rev := t.Base + 1; rev <= t.Last; rev++ {
		c := t.changes[rev]
		if c == nil {
			continue
		}
		for i := range c.Events {
			e := &c.Events[i]
			v := version{rev: rev}
			if !e.Deleted {
				v.kv = &e.KV
			}
			t.keys[e.Key] = append(t.keys[e.Key], v)
		}
	}
	return t, problems
}

func byRevision(events []Event) map[int64][]Event {
	out := map[int64][]Event{}
	for _, e := range events {
		out[e.Rev] = append(out[e.Rev], e)
	}
	return out
}

// differ compares the events of one revision without the previous versions, which a watch may not have asked for.
func differ(a, b []Event) string {
	if len(a) != len(b) {
		return fmt.Sprintf("%d events against %d", len(a), len(b))
	}
	order := func(x, y Event) int { return cmp.Compare(x.Key, y.Key) }
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	for i := range a {
		if a[i].Key != b[i].Key || a[i].Deleted != b[i].Deleted || a[i].KV != b[i].KV {
			return fmt.Sprintf("%+v against %+v", a[i], b[i])
		}
	}
	return ""
}

// At is the change of a revision, nil when there is none.
func (t *Timeline) At(rev int64) *Change { return t.changes[rev] }

// Changes calls f for each change in order.
func (t *Timeline) Changes(f func(*Change)) {
	for rev := t.Base + 1; rev <= t.Last; rev++ {
		if c := t.changes[rev]; c != nil {
			f(c)
		}
	}
}

// Get is the version of a key at a revision, nil when there is none.
func (t *Timeline) Get(key string, rev int64) *KV {
	vs := t.keys[key]
	i := sort.Search(len(vs), func(i int) bool { return vs[i].rev > rev })
	if i == 0 {
		return nil
	}
	return vs[i-1].kv
}

// Range are the versions at a revision of the keys that want selects, in the order of the keys.
func (t *Timeline) Range(rev int64, want func(key string) bool) []KV {
	var out []KV
	for key := range t.keys {
		if want(key) {
			if v := t.Get(key, rev); v != nil {
				out = append(out, *v)
			}
		}
	}
	slices.SortFunc(out, func(a, b KV) int { return cmp.Compare(a.Key, b.Key) })
	return out
}
