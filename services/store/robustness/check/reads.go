package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// reads checks every answer against the state at the revision that the answer names.
func reads(r *history.Round, t *history.Timeline) (found []string) {
	for _, o := range r.Ops {
		if o.Outcome != history.OK || o.Made() {
			continue
		}
		at := o.Header
		if o.Revision != 0 {
			if o.Header != o.Revision {
				found = append(found, fmt.Sprintf("%s of %s by %s at revision %d was answered as of revision %d", o.Kind, where(o), o.Client, o.Revision, o.Header))
				continue
			}
		}
		switch {
		case at < t.Base:
			continue // a member that lags behind the round's beginning, asked for whatever it has
		case at > t.Last:
			found = append(found, fmt.Sprintf("%s of %s by %s was answered as of revision %d, the newest is %d", o.Kind, where(o), o.Client, at, t.Last))
			continue
		}
		var want []history.KV
		count, more := int64(0), false
		if o.Kind == history.List {
			want = t.Range(at, func(key string) bool { return strings.HasPrefix(key, o.Prefix) && key > o.After })
			count = int64(len(want))
			if o.Limit > 0 && count > o.Limit {
				want, more = want[:o.Limit], true
			}
		} else {
			for _, key := range o.Keys {
				if v := t.Get(key, at); v != nil {
					want = append(want, *v)
				}
			}
			count = int64(len(want))
		}
		if diff := differ(o.Read, want); diff != "" {
			found = append(found, fmt.Sprintf("%s of %s by %s as of revision %d: %s", o.Kind, where(o), o.Client, at, diff))
			continue
		}
		if o.Kind == history.List && (o.Count != count || o.More != more) {
			found = append(found, fmt.Sprintf("%s of %s by %s as of revision %d says count %d, more %v; it is %d, %v", o.Kind, where(o), o.Client, at, o.Count, o.More, count, more))
		}
		if o.Conditional() && mod(t.Get(o.Keys[0], at)) == o.Expect {
			found = append(found, fmt.Sprintf("%s of %s by %s was refused as of revision %d, where the expected revision %d was right", o.Kind, where(o), o.Client, at, o.Expect))
		}
	}
	return found
}

func where(o *history.Op) string {
	if o.Kind == history.List {
		return o.Prefix + "*"
	}
	return strings.Join(o.Keys, ", ")
}

func differ(got, want []history.KV) string {
	if slices.Equal(got, want) {
		return ""
	}
	if len(got) != len(want) {
		return fmt.Sprintf("read %d keys, there were %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Sprintf("read %+v, there was %+v", got[i], want[i])
		}
	}
	return ""
}
