package warning

import (
	"context"
	"strings"
	"testing"
)

func TestHeaders(t *testing.T) {
	ctx, r := WithRecorder(context.Background())
	Add(ctx, `unknown field "spec.x"`)
	Add(ctx, `unknown field "spec.x"`)
	Add(ctx, "line\nbreak, ü")
	want := []string{`299 - "unknown field \"spec.x\""`, `299 - "line break, \u00fc"`}
	got := r.Headers()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("got %q, want %q", got, want)
	}
	for range 1000 {
		Add(ctx, strings.Repeat("x", 100)+string(rune('a'+len(r.Headers())%26)))
	}
	total := 0
	for _, h := range r.Headers() {
		total += len(h)
	}
	if total > 3*maxTotal {
		t.Errorf("%d bytes of warnings", total)
	}
	Add(context.Background(), "nobody listens")
}
