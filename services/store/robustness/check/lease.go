package check

import (
	"fmt"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// leases checks that no lease ended before its time: neither its key nor itself was gone within its time to live after the
// last renewal that was acknowledged, and none was renewed after it had ended.
func leases(r *history.Round, t *history.Timeline) (found []string) {
	for _, l := range r.Leases {
		gone := l.Lost
		t.Changes(func(c *history.Change) {
			for i := range c.Events {
				if e := &c.Events[i]; e.Deleted && e.Key == l.Key {
					if before := t.Get(e.Key, c.Rev-1); before != nil && before.Lease == l.ID && (gone == 0 || c.Seen < gone) {
						gone = c.Seen
					}
				}
			}
		})
		if gone == 0 || l.Revoked != 0 && gone >= l.Revoked {
			continue
		}
		for _, at := range l.Renewed {
			switch age := time.Duration(gone - at); {
			case age < 0:
				found = append(found, fmt.Sprintf("lease %d of %s was renewed %v after it was gone", l.ID, l.Key, -age))
			case age < time.Duration(l.TTL)*time.Second:
				found = append(found, fmt.Sprintf("lease %d of %s was gone %v after a renewal for %d s", l.ID, l.Key, age, l.TTL))
			}
		}
	}
	return found
}
