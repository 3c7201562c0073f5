package backoff

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestDelayDoublesUpToTheLimitAndBeginsAnewAfterQuiet(t *testing.T) {
	clock := testclock.NewFakeClock(time.Unix(1000, 0))
	b := New(clock, 10*time.Second, 5*time.Minute)
	if b.Remaining("a", clock.Now()) != 0 {
		t.Error("a key that never failed must not wait")
	}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
		if got := b.Next("a", clock.Now()); got != want*time.Second {
			t.Errorf("delay %v, want %v", got, want*time.Second)
		}
		failed := clock.Now()
		clock.Step(got(b) / 2)
		if got := b.Remaining("a", failed); got != want*time.Second/2 {
			t.Errorf("remaining %v, want %v", got, want*time.Second/2)
		}
		clock.Step(got(b))
		if b.Remaining("a", failed) != 0 {
			t.Error("the delay is over")
		}
	}
	clock.Step(10*time.Minute + time.Second)
	if got := b.Next("a", clock.Now()); got != 10*time.Second {
		t.Errorf("after ten quiet minutes: %v, want 10s", got)
	}
	b.Forget(func(string) bool { return true })
	if b.Delay("a") != 0 {
		t.Error("a forgotten key has a delay")
	}
}

func got(b *Backoff) time.Duration { return b.Delay("a") }
