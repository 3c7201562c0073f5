package report

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/orrery-io/orrery/services/store/robustness/fault"
)

// Markers around what Write replaces in the file.
const (
	begin = "<!-- results: written by the run, do not edit -->"
	end   = "<!-- end of results -->"
)

// Write puts the table of results between the markers of a file; all else in it is kept.
func Write(file string, rounds []Round) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	before, rest, ok := strings.Cut(string(data), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return errors.New("the report " + file + " has no place for the results: it needs the lines " + begin + " and " + end)
	}
	return os.WriteFile(file, []byte(before+begin+"\n"+table(rounds)+end+after), 0o644)
}

func table(rounds []Round) string {
	what := map[string]string{}
	for _, f := range fault.Table() {
		what[f.Name] = f.What
	}
	var b strings.Builder
	b.WriteString(summary(rounds))
	b.WriteString("\n| Fault | What it is | Times | Calls | Recovery median | max | Longest gap median | max | Violations |\n|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, r := range rows(rounds) {
		fmt.Fprintf(&b, "| %s | %s | %d | %d | %s | %s | %s | %s | %d |\n", r.fault, what[r.fault], r.times, r.calls,
			seconds(median(r.recovery)), seconds(slices.Max(r.recovery)), seconds(median(r.gap)), seconds(slices.Max(r.gap)), r.violations)
	}
	return b.String()
}

// summary says in words what the table adds up to.
func summary(rounds []Round) string {
	calls, events, violations, unknown := 0, 0, 0, 0
	shapes := map[string]int{}
	for i := range rounds {
		r := &rounds[i]
		calls, events, violations, unknown = calls+r.Calls, events+r.Events, violations+len(r.Violations), unknown+r.Unknown
		name := fmt.Sprintf("members=%d", r.Members)
		if r.LogStore != "" {
			name += " log-store=" + r.LogStore
		}
		shapes[name]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		parts = append(parts, fmt.Sprintf("%s: %d", name, shapes[name]))
	}
	return fmt.Sprintf("%d faults (%s), %d calls of which %d had no answer, %d events told by watches, %d violations. Times are in seconds.\n",
		len(rounds), strings.Join(parts, ", "), calls, unknown, events, violations)
}

// Text is the table for a terminal.
func Text(rounds []Round) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %5s %8s %9s %9s %9s %9s %10s\n", "FAULT", "TIMES", "CALLS", "RECOVERY", "MAX", "GAP", "MAX", "VIOLATIONS")
	for _, r := range rows(rounds) {
		fmt.Fprintf(&b, "%-22s %5d %8d %9s %9s %9s %9s %10d\n", r.fault, r.times, r.calls,
			seconds(median(r.recovery)), seconds(slices.Max(r.recovery)), seconds(median(r.gap)), seconds(slices.Max(r.gap)), r.violations)
	}
	b.WriteString(summary(rounds))
	return b.String()
}
