package election

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/apiclient/apitest"
)

type fixture struct {
	t      *testing.T
	clock  *clocktesting.FakeClock
	server *apitest.Server
	client apiclient.Leases
}

func newFixture(t *testing.T) *fixture {
	clock := clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	s := apitest.New(clock)
	return &fixture{t: t, clock: clock, server: s, client: s.Client().Leases("kube-system")}
}

func (f *fixture) config(identity string) Config {
	return Config{Leases: f.client, Namespace: "kube-system", Name: "l", Identity: identity, Clock: f.clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// candidate runs for leadership; leading is closed when it leads, ended yields what Run returned.
func (f *fixture) candidate(ctx context.Context, identity string) (leading chan struct{}, ended chan error) {
	leading, ended = make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- Run(ctx, f.config(identity), func(ctx context.Context) error {
			close(leading)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	return leading, ended
}

// stepUntil moves the clock on by small steps until done is ready.
func stepUntil[T any](f *fixture, done <-chan T) (v T) {
	for {
		select {
		case v = <-done:
			return v
		default:
			if f.clock.HasWaiters() {
				f.clock.Step(500 * time.Millisecond)
			}
			runtime.Gosched()
		}
	}
}

func (f *fixture) heldBy(identity string) {
	now := metav1.NewMicroTime(f.clock.Now())
	_, err := f.client.Create(context.Background(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", Namespace: "kube-system"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity, LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &now, AcquireTime: &now}})
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) lease() coordinationv1.LeaseSpec {
	l, err := f.client.Get(context.Background(), "l")
	if err != nil {
		f.t.Fatal(err)
	}
	return l.Spec
}

func TestTheLeaseOfADeadHolderIsWaitedOut(t *testing.T) {
	f := newFixture(t)
	f.heldBy("dead")
	start := f.clock.Now()
	ctx, cancel := context.WithCancel(context.Background())
	leading, ended := f.candidate(ctx, "b")
	stepUntil(f, leading)
	if d := f.clock.Since(start); d < 15*time.Second || d > 20*time.Second {
		t.Errorf("took over after %v, want 15 s and a retry", d)
	}
	if l := f.lease(); *l.HolderIdentity != "b" || *l.LeaseTransitions != 1 {
		t.Errorf("lease %+v", l)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
}

func TestAReleasedLeaseIsTakenAtOnce(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	leading, ended := f.candidate(ctx, "a")
	<-leading
	second, stop := context.WithCancel(context.Background())
	defer stop()
	next, _ := f.candidate(second, "b")
	cancel()
	<-ended
	if h := *f.lease().HolderIdentity; h != "" && h != "b" {
		t.Errorf("the lease is still held by %q", h)
	}
	start := f.clock.Now()
	stepUntil(f, next)
	if d := f.clock.Since(start); d > 3*time.Second {
		t.Errorf("the successor waited %v", d)
	}
}

func TestTheSameIdentityGoesOnAtOnce(t *testing.T) {
	f := newFixture(t)
	f.heldBy("a")
	ctx, cancel := context.WithCancel(context.Background())
	leading, ended := f.candidate(ctx, "a")
	<-leading // the clock does not move
	if l := f.lease(); ptr.Deref(l.LeaseTransitions, 0) != 0 {
		t.Errorf("going on counts as a transition: %+v", l)
	}
	cancel()
	<-ended
}

func TestAHolderThatCannotRenewStops(t *testing.T) {
	f := newFixture(t)
	var broken atomic.Bool
	f.server.Before = func(apitest.Call) error {
		if broken.Load() {
			return apierrors.NewServiceUnavailable("cut off")
		}
		return nil
	}
	leading, ended := f.candidate(context.Background(), "a")
	<-leading
	start := f.clock.Now()
	broken.Store(true)
	if err := stepUntil(f, ended); !errors.Is(err, ErrLost) {
		t.Errorf("Run: %v", err)
	}
	if d := f.clock.Since(start); d < 10*time.Second || d >= 15*time.Second {
		t.Errorf("stopped after %v: not before the renew deadline, and before the lease runs out", d)
	}
}

func TestBadDurationsAreRefused(t *testing.T) {
	f := newFixture(t)
	c := f.config("a")
	c.LeaseDuration, c.RenewDeadline = time.Second, time.Minute
	if err := Run(context.Background(), c, nil); err == nil {
		t.Error("a renew deadline beyond the lease is accepted")
	}
}
