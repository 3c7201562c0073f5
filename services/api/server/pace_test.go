package server

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// A lone event is never held back; in a flood each of many watches waits for its share of the pieces.
func TestPacerHoldsBackOnlyFloods(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	p := &pacing{clock: clk}
	w := p.begin()
	for range 199 {
		defer p.begin().end()
	}
	ctx := context.Background()
	w.wait(ctx) // returns, or the test hangs
	clk.Step(time.Second)
	w.wait(ctx)

	done := make(chan struct{})
	go func() {
		defer close(done)
		w.wait(ctx)
	}()
	for !clk.HasWaiters() {
		select {
		case <-done:
			t.Fatal("the second event of a flood was not held back")
		default:
		}
	}
	clk.Step(50 * time.Millisecond) // 200 watches at 4,000 pieces a second
	<-done
}
