package check

import (
	"fmt"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// Violation is a broken promise: the check that found it, and what it found.
type Violation struct {
	Check  string `json:"check"`
	Detail string `json:"detail"`
}

func (v Violation) String() string { return v.Check + ": " + v.Detail }

// Options of Round.
type Options struct {
	// Timeout bounds the search for a linearization; running into it is a violation.
	Timeout time.Duration
	// Picture is the file to draw a key's history into that has no linearization; empty for none.
	Picture string
}

// maxPerCheck bounds how many violations one check reports: one cause breaks many things.
const maxPerCheck = 10

// Round checks everything in a round. It completes the outcomes of its calls (see resolve).
func Round(r *history.Round, o Options) []Violation {
	var out []Violation
	add := func(name string, found []string) {
		for i, d := range found {
			if i == maxPerCheck {
				d = fmt.Sprintf("and %d more", len(found)-maxPerCheck)
			}
			out = append(out, Violation{name, d})
			if i == maxPerCheck {
				break
			}
		}
	}
	t, problems := history.Build(r)
	add("timeline", problems)
	add("timeline", chain(t))
	add("authors", resolve(r, t))
	add("acknowledged writes", acknowledged(r, t))
	add("refused writes", refused(r, t))
	add("reads", reads(r, t))
	add("real time", realTime(r))
	for _, w := range r.Watches {
		for _, g := range Guarantees {
			add("watch "+g.Name, labelled(w, g.Check(w, t)))
		}
		add("watch alive", labelled(w, alive(w, r)))
	}
	add("leases", leases(r, t))
	add("linearizability", linearizable(r, t, o))
	return out
}

func labelled(w *history.Watch, found []string) []string {
	for i := range found {
		found[i] = w.Name + ": " + found[i]
	}
	return found
}
