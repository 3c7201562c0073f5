package server

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// held returns a channel that is closed when w has waited, after making sure that it does wait.
func held(t *testing.T, clk *clocktesting.FakeClock, w *pacer) chan struct{} {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.wait(context.Background())
	}()
	for !clk.HasWaiters() {
		select {
		case <-done:
			t.Fatal("the second message in a window was not held back")
		default:
		}
	}
	return done
}

// A lone event is never held back, nor are few watches or the first event of a flood; after it each watch waits for the end of the
// window, unless somebody wants to know how far it is.
func TestPacerHoldsBackOnlyFloods(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	p := newPacing(clk)
	watches := make([]*pacer, 40)
	for i := range watches {
		watches[i] = p.pacer()
		watches[i].wait(t.Context()) // returns, or the test hangs
	}
	clk.Step(time.Second)
	for range 10 {
		watches[0].wait(t.Context())
		clk.Step(time.Millisecond)
	}
	clk.Step(time.Second)
	for _, w := range watches {
		w.wait(t.Context())
	}
	first := held(t, clk, watches[0])
	clk.Step(4 * time.Millisecond) // 40 messages at 10,000 a second
	<-first
	watches[1].wait(t.Context())
	second := held(t, clk, watches[1])
	watches[1].soon()
	<-second
}
