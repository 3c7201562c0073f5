package history

import (
	"strings"
	"testing"
)

// TestName: a value that is not whole, or holds another's bytes, is not taken for what it was.
func TestName(t *testing.T) {
	whole := Value("r1-w00-7")
	if got := Name(whole); got != "r1-w00-7" {
		t.Errorf("a whole value is %q", got)
	}
	if got := Name(nil); got != "" {
		t.Errorf("no value is %q", got)
	}
	other := append([]byte("r1-w00-8"), whole[len("r1-w00-8"):]...)
	for name, v := range map[string][]byte{"cut": whole[:len(whole)-1], "longer": append(whole[:len(whole):len(whole)], 'x'), "another's": other, "zeroes": make([]byte, 40)} {
		if got := Name(v); !strings.HasPrefix(got, "damaged") {
			t.Errorf("%s: taken for %q", name, got)
		}
	}
}
