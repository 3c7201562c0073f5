package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// Round is what is kept of one.
type Round struct {
	Number   int
	Fault    string
	Members  int
	LogStore string
	// Calls are all that clients made, Unknown those that they never got an answer to, Events what all watches were told.
	Calls, Unknown, Events, Watches int
	// Recovery is how long it took from the end of the fault until every member took a write. Gap is the longest time
	// without an acknowledged write, from beginning to end.
	Recovery, Gap, Took time.Duration
	Violations, Notes   []string
}

// Failed reports whether the store broke a promise.
func (r Round) Failed() bool { return len(r.Violations) > 0 }

// Count fills in the figures.
func (r *Round) Count(h *history.Round) {
	r.Calls = len(h.Ops)
	r.Watches = len(h.Watches)
	var writes []int64
	for _, o := range h.Ops {
		if o.Outcome == history.Unknown {
			r.Unknown++
		}
		if o.Made() {
			writes = append(writes, o.Return)
		}
	}
	for _, w := range h.Watches {
		for i := range w.Responses {
			r.Events += len(w.Responses[i].Events)
		}
	}
	slices.Sort(writes)
	for i := 1; i < len(writes); i++ {
		r.Gap = max(r.Gap, time.Duration(writes[i]-writes[i-1]))
	}
}

// Line is the round in one line.
func (r *Round) Line() string {
	return fmt.Sprintf("round %d, %d members, %s: %d calls (%d unknown), %d watches, %d events, gap %v, recovery %v, took %v; %s",
		r.Number, r.Members, r.Fault, r.Calls, r.Unknown, r.Watches, r.Events, ms(r.Gap), ms(r.Recovery), ms(r.Took), strings.Join(r.Notes, "; "))
}

func ms(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// row is one fault of the table.
type row struct {
	fault                    string
	times, calls, violations int
	recovery, gap            []time.Duration
}

func rows(rounds []Round) []*row {
	by := map[string]*row{}
	var out []*row
	for i := range rounds {
		r := &rounds[i]
		w := by[r.Fault]
		if w == nil {
			w = &row{fault: r.Fault}
			by[r.Fault] = w
			out = append(out, w)
		}
		w.times++
		w.calls += r.Calls
		w.recovery = append(w.recovery, r.Recovery)
		w.gap = append(w.gap, r.Gap)
		w.violations += len(r.Violations)
	}
	slices.SortFunc(out, func(a, b *row) int { return cmp.Compare(a.fault, b.fault) })
	return out
}

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(d))
	return s[len(s)/2]
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }
