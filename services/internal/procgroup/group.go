package procgroup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"
)

// Member is one service of a Group.
type Member struct {
	Name string
	// Run serves until its context ends, then stops in order and returns nil. Returning before that, with or without an
	// error, ends the group.
	Run func(context.Context) error
	// Ready, if set, is closed when the member serves; the next one is started then.
	Ready <-chan struct{}
}

// Group runs members in one process.
type Group struct {
	// StopTimeout is how long each member may take to stop; 0 means 20 s. One that takes longer is left behind with an error.
	StopTimeout time.Duration
	Logger      *slog.Logger
	Clock       clock.WithTicker

	running []*member
	failed  chan *member
}

type member struct {
	Member
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// Start begins one member and returns when it is ready. It fails when the member does, or any started before it, or ctx ends first; call
// Stop in any case. ctx does not end the member: Stop does, or Wait.
func (g *Group) Start(ctx context.Context, m Member) error {
	g.complete()
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	started := &member{Member: m, cancel: cancel, done: make(chan struct{})}
	g.running = append(g.running, started)
	failed := g.failed
	go func() {
		defer close(started.done)
		started.err = runRecovered(run, m)
		if run.Err() == nil {
			// It was not asked to stop. The first one to fail is the cause; later ones may only have missed it.
			select {
			case failed <- started:
			default:
			}
		}
	}()
	if m.Ready == nil {
		return nil
	}
	select {
	case <-m.Ready:
		return nil
	case first := <-g.failed:
		g.failed <- first // Wait reports it too
		<-first.done
		return first.failure()
	case <-ctx.Done():
		return fmt.Errorf("%s did not get ready: %w", m.Name, ctx.Err())
	}
}

// Wait blocks until ctx ends or a member fails, then stops all; the error is the failure, or what went wrong while stopping.
func (g *Group) Wait(ctx context.Context) error {
	g.complete()
	var err error
	select {
	case <-ctx.Done():
	case first := <-g.failed:
		<-first.done
		err = first.failure()
	}
	return errors.Join(err, g.Stop())
}

// Stop stops the members one by one, the last started first, and waits for each.
func (g *Group) Stop() error {
	g.complete()
	var errs []error
	for i := len(g.running) - 1; i >= 0; i-- {
		m := g.running[i]
		asked := !m.over()
		m.cancel()
		timer := g.Clock.NewTimer(g.StopTimeout)
		select {
		case <-m.done:
			if asked && m.err != nil && !errors.Is(m.err, context.Canceled) {
				errs = append(errs, fmt.Errorf("stopping %s: %w", m.Name, m.err))
			}
		case <-timer.C():
			errs = append(errs, fmt.Errorf("%s did not stop within %v", m.Name, g.StopTimeout))
		}
		timer.Stop()
		g.Logger.Debug("stopped", "service", m.Name)
	}
	g.running = nil
	return errors.Join(errs...)
}

func (g *Group) complete() {
	if g.StopTimeout <= 0 {
		g.StopTimeout = 20 * time.Second
	}
	if g.Logger == nil {
		g.Logger = slog.Default()
	}
	if g.Clock == nil {
		g.Clock = clock.RealClock{}
	}
	if g.failed == nil {
		g.failed = make(chan *member, 1)
	}
}

func (m *member) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

func (m *member) failure() error {
	if m.err == nil {
		return fmt.Errorf("%s ended although nobody stopped it", m.Name)
	}
	return fmt.Errorf("%s failed: %w", m.Name, m.err)
}

func runRecovered(ctx context.Context, m Member) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return m.Run(ctx)
}
