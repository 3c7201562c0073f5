package fault

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// clockHold bounds how long the machine's clock is wrong: nothing else on the machine has asked for it.
const clockHold = 1500 * time.Millisecond

// minStep is the smallest step.
const minStep = 20 * time.Second

// clockStep moves the real clock for a moment and puts it back by the time that has passed on the monotonic one. A signal
// puts it back at once.
func clockStep(ctx context.Context, e *Env) error {
	step := e.between(minStep, 5*time.Minute)
	if e.Rand.IntN(2) == 0 {
		step = -step
	}
	e.Note("the clock jumps by %v", step.Round(time.Millisecond))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	if err := moveClock(step); err != nil {
		return fmt.Errorf("moving the machine's clock: %w", err)
	}
	t := time.NewTimer(clockHold)
	defer t.Stop()
	select {
	case <-t.C:
	case <-signals:
	case <-ctx.Done():
	}
	return errors.Join(ctx.Err(), moveClock(-step))
}

// moveClock sets the clock to what it shows plus d.
func moveClock(d time.Duration) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return err
	}
	to := unix.NsecToTimespec(now.Nano() + int64(d))
	return unix.ClockSettime(unix.CLOCK_REALTIME, &to)
}

// ClockMovable reports whether this process may move the clock, by setting it to what it shows.
func ClockMovable() error { return moveClock(0) }

// GuardClock notes how the real clock stands to the monotonic one. The function that it returns puts the clock back when it
// stands otherwise: for the case that the process that moved it was killed before it could.
func GuardClock() (restore func()) {
	offset := func() (d time.Duration, ok bool) {
		var mono, wall unix.Timespec
		if unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono) != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &wall) != nil {
			return 0, false
		}
		return time.Duration(wall.Nano() - mono.Nano()), true
	}
	before, known := offset()
	return func() {
		// Less than any step of ours is somebody else's.
		if now, ok := offset(); known && ok && (now-before).Abs() > minStep/2 {
			_ = moveClock(before - now)
		}
	}
}
