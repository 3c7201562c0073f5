package controller

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// run starts c and returns what stops it and waits.
func run(t *testing.T, c *Controller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := c.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

const (
	traceA = "00-0af7651916cd43dd8448eb211c80319c-00000000000000a1-01"
	traceB = "00-0af7651916cd43dd8448eb211c80319d-00000000000000b1-01"
	traceC = "00-0af7651916cd43dd8448eb211c80319e-00000000000000c1-01"
)

func TestTheFirstCauseIsTheParentAndTheOthersAreLinks(t *testing.T) {
	spans, restore := telemetry.InstallMemory()
	defer restore()
	done := make(chan string, 4)
	c := New("test", func(_ context.Context, key string) (Result, error) {
		done <- key
		return Result{}, nil
	}, Options{Workers: 1, Logger: quiet})
	for _, cause := range []string{traceA, traceB, traceA, traceB, traceC, ""} {
		c.Enqueue("a", informer.Cause{TraceParent: cause})
	}
	c.Enqueue("b", informer.Cause{})
	stop := run(t, c)
	<-done
	<-done
	stop()
	got := spans.GetSpans()
	if len(got) != 2 {
		t.Fatalf("%d spans, want 2", len(got))
	}
	a, b := got[0], got[1]
	if a.Parent.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || a.SpanContext.TraceID() != a.Parent.TraceID() {
		t.Errorf("the parent is %v in trace %v", a.Parent, a.SpanContext.TraceID())
	}
	if len(a.Links) != 2 || a.Links[0].SpanContext.SpanID().String() != "00000000000000b1" || a.Links[1].SpanContext.SpanID().String() != "00000000000000c1" {
		t.Errorf("links %+v", a.Links)
	}
	if b.Parent.IsValid() || b.SpanContext.TraceID() == a.SpanContext.TraceID() {
		t.Errorf("a reconcile that nothing caused is in trace %v", b.SpanContext.TraceID())
	}
}

func TestAFailedKeyIsTriedAgainInItsTrace(t *testing.T) {
	spans, restore := telemetry.InstallMemory()
	defer restore()
	var tries atomic.Int32
	done := make(chan struct{})
	c := New("test", func(context.Context, string) (Result, error) {
		switch tries.Add(1) {
		case 1:
			return Result{}, errors.New("no")
		case 2:
			panic("worse")
		case 3:
			return Result{}, apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("stale"))
		}
		close(done)
		return Result{}, nil
	}, Options{Logger: quiet, MinBackoff: time.Microsecond})
	c.Enqueue("a", informer.Cause{TraceParent: traceA})
	stop := run(t, c)
	<-done
	stop()
	for _, s := range spans.GetSpans() {
		if s.SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
			t.Errorf("a try is in trace %v", s.SpanContext.TraceID())
		}
	}
	if n := len(spans.GetSpans()); n != 4 {
		t.Errorf("%d spans for 4 tries", n)
	}
}

func TestAfterIsAWaitAndNotAFailure(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	start := clock.Now()
	times := make(chan time.Time, 2)
	c := New("test", func(context.Context, string) (Result, error) {
		times <- clock.Now()
		return Result{After: time.Hour}, nil
	}, Options{Clock: clock, Logger: quiet})
	c.Enqueue("a", informer.Cause{})
	run(t, c)
	if first := <-times; !first.Equal(start) {
		t.Errorf("the first reconcile was at %v", first.Sub(start))
	}
	for {
		select {
		case second := <-times:
			if d := second.Sub(start); d < time.Hour {
				t.Errorf("the second reconcile was after %v", d)
			}
			return
		default:
			clock.Step(10 * time.Minute)
			runtime.Gosched()
		}
	}
}

func TestCausesAreBounded(t *testing.T) {
	var c causes
	for i := range 100 {
		c.add("k", traceA[:len(traceA)-4]+string(rune('a'+i%20))+string(rune('a'+i/20))+"-01")
	}
	if n := len(c.take("k")); n != maxCauses {
		t.Errorf("%d causes kept, want %d", n, maxCauses)
	}
	if len(c.byKey) != 0 {
		t.Error("a key that was taken is still held")
	}
}

func TestWritten(t *testing.T) {
	var w Written
	if !w.Seen("k", "") {
		t.Error("nothing written is seen")
	}
	w.Note("k", "12")
	w.Note("k", "9")
	if w.Seen("k", "11") || w.Seen("k", "") || !w.Seen("other", "1") {
		t.Error("revision 11 does not show a write at 12")
	}
	if !w.Seen("k", "100") || !w.Seen("k", "1") {
		t.Error("revision 100 shows it, and it is forgotten then")
	}
}
