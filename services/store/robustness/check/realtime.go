package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// realTime checks that revisions follow real time: a call that began after another had ended sees at least that one's
// revision, and a write gets a higher one. Together with what the other checks say of single revisions this makes the
// whole key space linearizable, not only each key.
func realTime(r *history.Round) (found []string) {
	var ops []*history.Op
	for _, o := range r.Ops {
		if o.Linearizable() {
			ops = append(ops, o)
		}
	}
	begun := slices.SortedFunc(slices.Values(ops), func(a, b *history.Op) int { return cmp.Compare(a.Call, b.Call) })
	ended := slices.SortedFunc(slices.Values(ops), func(a, b *history.Op) int { return cmp.Compare(a.Return, b.Return) })
	var newest *history.Op
	i := 0
	for _, o := range begun {
		for i < len(ended) && ended[i].Return < o.Call {
			if newest == nil || ended[i].Header > newest.Header {
				newest = ended[i]
			}
			i++
		}
		if newest == nil {
			continue
		}
		if o.Header < newest.Header || o.Made() && o.Header == newest.Header {
			found = append(found, fmt.Sprintf("%s of %s by %s began %d ns after %s of %s by %s had ended with revision %d, and is of revision %d",
				o.Kind, where(o), o.Client, o.Call-newest.Return, newest.Kind, where(newest), newest.Client, newest.Header, o.Header))
		}
	}
	return found
}
