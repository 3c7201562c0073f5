package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/cluster"
)

// stopTimeout bounds how long a member may take to end in order.
const stopTimeout = 20 * time.Second

func killLeader(ctx context.Context, e *Env) error   { return onOne(ctx, e, e.leader, kill) }
func killFollower(ctx context.Context, e *Env) error { return onOne(ctx, e, e.follower, kill) }

// onOne picks a member and breaks it.
func onOne(ctx context.Context, e *Env, pick func(context.Context) (*cluster.Member, error), f func(context.Context, *Env, *cluster.Member) error) error {
	m, err := pick(ctx)
	if err != nil {
		return err
	}
	return f(ctx, e, m)
}

func kill(ctx context.Context, e *Env, m *cluster.Member) error {
	e.Note("kill %s", m.Name)
	if err := m.Kill(ctx); err != nil {
		return err
	}
	if err := hold(ctx, e.between(100*time.Millisecond, 2500*time.Millisecond)); err != nil {
		return err
	}
	return m.Start()
}

func killAll(ctx context.Context, e *Env) error {
	e.Note("kill all")
	if err := onAll(e, func(m *cluster.Member) error { return m.Kill(ctx) }); err != nil {
		return err
	}
	if err := hold(ctx, e.between(0, time.Second)+time.Millisecond); err != nil {
		return err
	}
	return onAll(e, (*cluster.Member).Start)
}

// onAll does something to all members at once.
func onAll(e *Env, f func(*cluster.Member) error) error {
	errs := make([]error, len(e.Cluster.Members))
	var wg sync.WaitGroup
	for i, m := range e.Cluster.Members {
		wg.Go(func() { errs[i] = f(m) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func stop(ctx context.Context, m *cluster.Member) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		return fmt.Errorf("SIGTERM: %w", err)
	}
	return nil
}

func stopAll(ctx context.Context, e *Env) error {
	e.Note("stop all")
	if err := onAll(e, func(m *cluster.Member) error { return stop(ctx, m) }); err != nil {
		return err
	}
	return onAll(e, (*cluster.Member).Start)
}

func rollingRestart(ctx context.Context, e *Env) error {
	for _, m := range e.Cluster.Members {
		e.Note("restart %s", m.Name)
		if err := stop(ctx, m); err != nil {
			return err
		}
		if err := m.Start(); err != nil {
			return err
		}
		if err := e.Cluster.Writable(ctx); err != nil {
			return err
		}
	}
	return nil
}

func pauseLeader(ctx context.Context, e *Env) error   { return onOne(ctx, e, e.leader, pause) }
func pauseFollower(ctx context.Context, e *Env) error { return onOne(ctx, e, e.follower, pause) }

func pause(ctx context.Context, e *Env, m *cluster.Member) error {
	e.Note("pause %s", m.Name)
	if err := m.Pause(); err != nil {
		return err
	}
	return errors.Join(hold(ctx, e.between(500*time.Millisecond, 4*time.Second)), m.Resume())
}

func pauseAll(ctx context.Context, e *Env) error {
	e.Note("pause all")
	if err := onAll(e, (*cluster.Member).Pause); err != nil {
		return err
	}
	// They go on one after the other, as machines do.
	err := hold(ctx, e.between(500*time.Millisecond, 3*time.Second))
	for _, i := range e.Rand.Perm(len(e.Cluster.Members)) {
		err = errors.Join(err, e.Cluster.Members[i].Resume(), hold(ctx, e.between(time.Millisecond, 400*time.Millisecond)))
	}
	return err
}
