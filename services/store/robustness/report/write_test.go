package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWrite: the results replace those before them, and nothing else.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("above\n"+begin+"\nstale row\n"+end+"\nbelow\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	rounds := []Round{
		{Fault: "kill-leader", Members: 3, Calls: 10, Recovery: time.Second, Gap: 2 * time.Second},
		{Fault: "kill-leader", Members: 5, Calls: 10, Recovery: 3 * time.Second, Violations: []string{"x"}},
	}
	for range 2 {
		if err := Write(file, rounds); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := os.ReadFile(file)
	text := string(data)
	for _, want := range []string{"above\n" + begin, end + "\nbelow\n", "| kill-leader | kill -9 of the leader | 2 | 20 | 3.00 | 3.00 |", "members=3: 1, members=5: 1", "1 violations"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "stale row") || strings.Count(text, begin) != 1 {
		t.Errorf("the old results are still there:\n%s", text)
	}
	if err := os.WriteFile(file, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(file, rounds); err == nil {
		t.Error("a page without a place for results was overwritten")
	}
}
