package check

import (
	"fmt"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// acknowledged checks that each write that its client was told of is in the timeline at its revision, whole, and that its
// comparison held there.
func acknowledged(r *history.Round, t *history.Timeline) (found []string) {
	for _, o := range r.Ops {
		if !o.Made() {
			continue
		}
		c := t.At(o.Header)
		if c == nil {
			found = append(found, fmt.Sprintf("lost: %s of %v (%s) by %s was acknowledged as revision %d, which does not exist", o.Kind, o.Keys, o.Value, o.Client, o.Header))
			continue
		}
		if len(c.Events) != len(o.Keys) {
			found = append(found, fmt.Sprintf("revision %d has %d changes, its write made %d", c.Rev, len(c.Events), len(o.Keys)))
			continue
		}
		byKey := map[string]*history.Event{}
		for i := range c.Events {
			byKey[c.Events[i].Key] = &c.Events[i]
		}
		for _, key := range o.Keys {
			e := byKey[key]
			if e == nil || e.Deleted != (o.Kind == history.Delete) || !e.Deleted && (e.KV.Value != o.Value || e.KV.Lease != o.Lease) {
				found = append(found, fmt.Sprintf("lost: %s of %s (%s) by %s was acknowledged as revision %d, which is %+v", o.Kind, key, o.Value, o.Client, o.Header, c.Events))
				continue
			}
			before := t.Get(key, o.Header-1)
			if o.Conditional() && mod(before) != o.Expect {
				found = append(found, fmt.Sprintf("revision %d: %s of %s went through with expected revision %d where it was %d", o.Header, o.Kind, key, o.Expect, mod(before)))
			}
		}
		if o.HasPrev {
			found = append(found, previous(o, t)...)
		}
	}
	return found
}

func mod(v *history.KV) int64 {
	if v == nil {
		return 0
	}
	return v.Mod
}

// previous checks the versions that a write says it replaced.
func previous(o *history.Op, t *history.Timeline) (found []string) {
	var want []history.KV
	for _, key := range o.Keys {
		if v := t.Get(key, o.Header-1); v != nil {
			want = append(want, *v)
		}
	}
	if len(want) != len(o.Prev) {
		return []string{fmt.Sprintf("revision %d: %s of %v returned previous versions %+v, they were %+v", o.Header, o.Kind, o.Keys, o.Prev, want)}
	}
	for i := range want {
		if want[i] != o.Prev[i] {
			found = append(found, fmt.Sprintf("revision %d: %s of %v returned the previous version %+v, it was %+v", o.Header, o.Kind, o.Keys, o.Prev[i], want[i]))
		}
	}
	return found
}

// refused checks that writes that failed for certain, and those whose comparison failed, left no trace.
func refused(r *history.Round, t *history.Timeline) (found []string) {
	made := map[string]int64{}
	t.Changes(func(c *history.Change) {
		for i := range c.Events {
			if e := &c.Events[i]; !e.Deleted {
				made[e.KV.Value] = c.Rev
			}
		}
	})
	for _, o := range r.Ops {
		if !o.Writes() || o.Value == "" {
			continue
		}
		rev, is := made[o.Value]
		switch {
		case !is:
		case o.Outcome == history.Failed:
			found = append(found, fmt.Sprintf("%s of %v (%s) by %s failed for certain (%s), and yet it is revision %d", o.Kind, o.Keys, o.Value, o.Client, o.Error, rev))
		case o.Outcome == history.OK && o.Conditional() && !o.Succeeded:
			found = append(found, fmt.Sprintf("%s of %v (%s) by %s lost its comparison, and yet it is revision %d", o.Kind, o.Keys, o.Value, o.Client, rev))
		case o.Made() && rev != o.Header:
			found = append(found, fmt.Sprintf("%s of %v (%s) by %s was acknowledged as revision %d and is (also) revision %d", o.Kind, o.Keys, o.Value, o.Client, o.Header, rev))
		}
	}
	return found
}
