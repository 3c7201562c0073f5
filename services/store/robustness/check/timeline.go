package check

import (
	"fmt"
	"slices"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// chain checks that each change follows from the state before it: the revision, the version and the creation of a key.
func chain(t *history.Timeline) (found []string) {
	t.Changes(func(c *history.Change) {
		for i := range c.Events {
			e := &c.Events[i]
			before := t.Get(e.Key, c.Rev-1)
			switch {
			case e.KV.Mod != c.Rev:
				found = append(found, fmt.Sprintf("revision %d: the version of %s says that it is of revision %d", c.Rev, e.Key, e.KV.Mod))
			case e.Deleted && before == nil:
				found = append(found, fmt.Sprintf("revision %d deletes %s, which did not exist", c.Rev, e.Key))
			case e.Deleted:
			case before == nil && (e.KV.Create != c.Rev || e.KV.Version != 1):
				found = append(found, fmt.Sprintf("revision %d creates %s, but says version %d created at %d", c.Rev, e.Key, e.KV.Version, e.KV.Create))
			case before != nil && (e.KV.Create != before.Create || e.KV.Version != before.Version+1):
				found = append(found, fmt.Sprintf("revision %d: %s is version %d created at %d after version %d created at %d",
					c.Rev, e.Key, e.KV.Version, e.KV.Create, before.Version, before.Create))
			}
		}
	})
	return found
}

// resolve finds out for each write of unknown outcome whether it was made: its value is in the timeline, or it is not. It
// reports changes that nobody asked for. An unknown write that was made becomes an acknowledged one that returned when a
// watch first told of it; one that was not made stays unknown and is left out by the other checks: it may be made yet, in a
// later round.
func resolve(r *history.Round, t *history.Timeline) (found []string) {
	claimed := map[int64]bool{}
	puts, deletes := map[[2]string][]*history.Op{}, map[string][]*history.Op{}
	for _, o := range slices.Concat(r.Ops, r.Late) {
		switch {
		case o.Made():
			claimed[o.Header] = true
		case !o.Writes() || o.Outcome != history.Unknown:
		case o.Kind == history.Delete:
			deletes[o.Keys[0]] = append(deletes[o.Keys[0]], o)
		default:
			puts[[2]string{o.Keys[0], o.Value}] = append(puts[[2]string{o.Keys[0], o.Value}], o)
		}
	}
	leased := map[string]bool{}
	for _, l := range r.Leases {
		leased[l.Key] = true
	}
	t.Changes(func(c *history.Change) {
		if claimed[c.Rev] {
			return
		}
		var by *history.Op
		for i := range c.Events {
			e := &c.Events[i]
			before := t.Get(e.Key, c.Rev-1)
			if e.Deleted {
				for _, o := range deletes[e.Key] {
					if by == nil && o.Outcome == history.Unknown && before != nil && before.Mod == o.Expect {
						by = o
					}
				}
				if by == nil && before != nil && before.Lease != 0 {
					return // its lease ended; see leases
				}
			} else if ops := puts[[2]string{e.Key, e.KV.Value}]; len(ops) > 0 && ops[0].Outcome == history.Unknown {
				by = ops[0]
			}
		}
		if by == nil {
			found = append(found, fmt.Sprintf("revision %d was asked for by nobody, or is a write made twice: %+v", c.Rev, c.Events))
			return
		}
		by.Outcome, by.Succeeded, by.Header, by.Return = history.OK, true, c.Rev, max(c.Seen, by.Call)
		by.HasPrev = false // its client never learned what it replaced
	})
	return found
}
