package election

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Leases is what an election needs of a typed client of Leases in the namespace of the election.
type Leases interface {
	Get(ctx context.Context, name string) (*coordinationv1.Lease, error)
	Create(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
	Update(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error)
}

// Config of an election. The durations default to those of Kubernetes.
type Config struct {
	Leases          Leases
	Namespace, Name string
	// Identity names this process. One that is the same after a restart gets its own Lease back at once; it must then never be
	// used by two processes at a time.
	Identity string
	// LeaseDuration is how long others wait after the last renewal; 15 s when zero.
	LeaseDuration time.Duration
	// RenewDeadline is how long the holder tries to renew before it stops acting; 10 s when zero.
	RenewDeadline time.Duration
	// RetryPeriod is the time between tries; 2 s when zero.
	RetryPeriod time.Duration
	// Standby, when set, is called each time another process is found to hold the Lease.
	Standby func()
	Clock   clock.Clock
	Logger  *slog.Logger
}

// ErrLost is returned when the Lease could not be renewed in time.
var ErrLost = errors.New("leadership lost: the lease could not be renewed in time")

type elector struct {
	Config
	observed     *coordinationv1.Lease // as last read or written
	observedTime time.Time             // when it last changed, by our clock
}

// Run waits until the Lease is ours, then calls lead with a context that ends when it no longer is, or when ctx is over. It returns after
// lead has: lead's error, ErrLost, or ctx's error; the Lease is released unless it was lost.
func Run(ctx context.Context, config Config, lead func(ctx context.Context) error) error {
	if config.LeaseDuration == 0 {
		config.LeaseDuration = 15 * time.Second
	}
	if config.RenewDeadline == 0 {
		config.RenewDeadline = 10 * time.Second
	}
	if config.RetryPeriod == 0 {
		config.RetryPeriod = 2 * time.Second
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Identity == "" {
		return errors.New("election: no identity given")
	}
	if config.LeaseDuration <= config.RenewDeadline || config.RenewDeadline <= config.RetryPeriod {
		return fmt.Errorf("election: want lease duration %v > renew deadline %v > retry period %v", config.LeaseDuration, config.RenewDeadline, config.RetryPeriod)
	}
	config.Logger = config.Logger.With("lease", config.Namespace+"/"+config.Name, "identity", config.Identity)
	e := &elector{Config: config}
	if err := e.acquire(ctx); err != nil {
		return err
	}
	leadCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		defer close(done) // whoever receives once more must not wait
		done <- lead(leadCtx)
	}()
	err := e.hold(ctx, done)
	if errors.Is(err, ErrLost) {
		e.Logger.Error("leadership lost, stopping")
		cancel()
		<-done
		return err
	}
	// hold returned because lead did, or because ctx is over and lead is ending.
	if ctx.Err() != nil && err == nil {
		err = <-done
	}
	e.release()
	return err
}

// acquire returns when the Lease is ours.
func (e *elector) acquire(ctx context.Context) error {
	for {
		held, err := e.try(ctx)
		if held {
			e.Logger.Info("became leader")
			return nil
		}
		if err != nil && ctx.Err() == nil {
			e.Logger.Warn("trying to become leader", "error", err)
		}
		if err == nil && e.Standby != nil {
			e.Standby()
		}
		// Jitter keeps candidates from colliding for ever.
		if !e.sleep(ctx, e.RetryPeriod+time.Duration(rand.Float64()*0.2*float64(e.RetryPeriod))) {
			return ctx.Err()
		}
	}
}

// hold renews until lead is done (its error), ctx is over (nil), or the deadline has passed (ErrLost).
func (e *elector) hold(ctx context.Context, done chan error) error {
	renewed := e.Clock.Now()
	for {
		timer := e.Clock.NewTimer(e.RetryPeriod)
		select {
		case err := <-done:
			timer.Stop()
			if err == nil {
				err = ctx.Err()
			}
			return err
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		attempt, cancel := context.WithTimeout(ctx, e.RenewDeadline)
		held, err := e.try(attempt)
		cancel()
		switch {
		case held:
			renewed = e.Clock.Now()
		case ctx.Err() != nil:
			//lint:ignore nilerr ctx is over: the failed try is part of the end
			return nil
		case err == nil:
			// Somebody else holds it.
			return ErrLost
		case e.Clock.Since(renewed) >= e.RenewDeadline:
			return ErrLost
		default:
			e.Logger.Warn("renewing the lease failed, trying again", "error", err)
		}
	}
}

// try takes or renews the Lease. held false without an error means that another holds it.
func (e *elector) try(ctx context.Context) (held bool, err error) {
	now := e.Clock.Now()
	// The holder writes over what it wrote last, one call instead of two.
	if e.observed != nil && e.holder() == e.Identity {
		if err := e.write(ctx, e.observed, now); err == nil {
			return true, nil
		}
	}
	lease, err := e.Leases.Get(ctx, e.Name)
	if apierrors.IsNotFound(err) {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name}}
		e.claim(lease, now)
		created, err := e.Leases.Create(ctx, lease)
		if err != nil {
			return false, fmt.Errorf("creating the lease: %w", err)
		}
		e.observe(created, now)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the lease: %w", err)
	}
	if e.observed == nil || e.observed.ResourceVersion != lease.ResourceVersion {
		e.observe(lease, now)
	}
	if h := e.holder(); h != "" && h != e.Identity {
		duration := time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0)) * time.Second
		if e.observedTime.Add(duration).After(now) {
			return false, nil
		}
	}
	if err := e.write(ctx, lease, now); err != nil {
		return false, fmt.Errorf("updating the lease: %w", err)
	}
	return true, nil
}

func (e *elector) write(ctx context.Context, lease *coordinationv1.Lease, now time.Time) error {
	lease = lease.DeepCopy()
	e.claim(lease, now)
	updated, err := e.Leases.Update(ctx, lease)
	if err != nil {
		return err
	}
	e.observe(updated, now)
	return nil
}

// claim makes the Lease ours as of now.
func (e *elector) claim(lease *coordinationv1.Lease, now time.Time) {
	at := metav1.NewMicroTime(now)
	if ptr.Deref(lease.Spec.HolderIdentity, "") != e.Identity {
		transitions := ptr.Deref(lease.Spec.LeaseTransitions, 0)
		if lease.ResourceVersion != "" {
			transitions++
		}
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &e.Identity, &at, &transitions
	}
	lease.Spec.LeaseDurationSeconds = ptr.To(int32(max(1, e.LeaseDuration/time.Second)))
	lease.Spec.RenewTime = &at
}

func (e *elector) observe(lease *coordinationv1.Lease, now time.Time) {
	e.observed, e.observedTime = lease, now
}

func (e *elector) holder() string { return ptr.Deref(e.observed.Spec.HolderIdentity, "") }

// release gives the Lease up so that a successor need not wait. ctx is over by now, so it has one of its own.
func (e *elector) release() {
	ctx, cancel := context.WithTimeout(context.Background(), e.RetryPeriod)
	defer cancel()
	now := metav1.NewMicroTime(e.Clock.Now())
	lease := e.observed.DeepCopy()
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = ptr.To(""), ptr.To[int32](1)
	lease.Spec.RenewTime, lease.Spec.AcquireTime = &now, &now
	if _, err := e.Leases.Update(ctx, lease); err != nil {
		e.Logger.Warn("releasing the lease failed, a successor waits it out", "error", err)
		return
	}
	e.Logger.Info("released the lease")
}

func (e *elector) sleep(ctx context.Context, d time.Duration) bool {
	timer := e.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
