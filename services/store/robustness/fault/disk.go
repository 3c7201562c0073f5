package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/cluster"
)

// spoil breaks a member's disk, holds that, and heals it. A member that has ended, or is about to, because of what its disk did
// is started again when the round waits for everybody.
func spoil(ctx context.Context, e *Env, m *cluster.Member, d time.Duration, breakIt func() error) error {
	m.MayEnd()
	err := breakIt()
	if err == nil {
		err = hold(ctx, d)
	}
	return errors.Join(err, m.HealDisk())
}

func slowSync(ctx context.Context, e *Env) error {
	return onOne(ctx, e, e.anyone, func(ctx context.Context, e *Env, m *cluster.Member) error {
		delay := e.between(50*time.Millisecond, 800*time.Millisecond)
		e.Note("syncs of %s take %v", m.Name, delay)
		return spoil(ctx, e, m, 3*time.Second, func() error { return m.Disk.SetSyncDelay(delay) })
	})
}

func failingSync(ctx context.Context, e *Env) error {
	return onOne(ctx, e, e.anyone, func(ctx context.Context, e *Env, m *cluster.Member) error {
		times, drop := 1, e.Rand.IntN(2) == 0
		if e.Rand.IntN(2) == 0 {
			times = -1
		}
		e.Note("syncs of %s fail (times %d, readers see it %v)", m.Name, times, drop)
		return spoil(ctx, e, m, 2*time.Second, func() error { return m.Disk.FailSyncs(times, drop) })
	})
}

func fullDisk(ctx context.Context, e *Env) error {
	return onOne(ctx, e, e.anyone, func(ctx context.Context, e *Env, m *cluster.Member) error {
		free := e.Rand.Int64N(256 << 10)
		e.Note("the disk of %s has %d bytes left", m.Name, free)
		return spoil(ctx, e, m, 3*time.Second, func() error { return m.Disk.SetFree(free) })
	})
}

func stuckDisk(ctx context.Context, e *Env) error {
	return onOne(ctx, e, e.anyone, func(ctx context.Context, e *Env, m *cluster.Member) error {
		e.Note("the disk of %s is stuck", m.Name)
		return spoil(ctx, e, m, e.between(time.Second, 4*time.Second), func() error { return m.Disk.SetStuck(true) })
	})
}

// deadDiskTimeout is how long a cluster may take to go on without a leader whose disk does not answer.
const deadDiskTimeout = 40 * time.Second

func deadDisk(ctx context.Context, e *Env) error {
	l, err := e.leader(ctx)
	if err != nil {
		return err
	}
	e.Note("the disk of %s does not answer any more", l.Name)
	l.MayEnd()
	if err := l.Disk.SetStuck(true); err != nil {
		return err
	}
	begun := time.Now()
	err = func() error {
		ctx, cancel := context.WithTimeout(ctx, deadDiskTimeout)
		defer cancel()
		for {
			now, err := e.leader(ctx)
			if err != nil {
				return fmt.Errorf("the disk of leader %s does not answer for %v, and no other member leads: %w", l.Name, deadDiskTimeout, err)
			}
			if now != l {
				e.Note("%s leads after %v", now.Name, time.Since(begun).Round(time.Millisecond))
				return hold(ctx, time.Second)
			}
			if err := hold(ctx, 50*time.Millisecond); err != nil {
				return fmt.Errorf("the disk of leader %s does not answer for %v, and it leads on", l.Name, deadDiskTimeout)
			}
		}
	}()
	return errors.Join(err, l.HealDisk())
}

func powerLoss(ctx context.Context, e *Env) error {
	return onOne(ctx, e, e.anyone, func(ctx context.Context, e *Env, m *cluster.Member) error {
		e.Note("%s loses power", m.Name)
		if err := m.LosePower(ctx, e.Rand.Uint64()); err != nil {
			return err
		}
		if err := hold(ctx, e.between(100*time.Millisecond, 2*time.Second)); err != nil {
			return err
		}
		return m.Start()
	})
}

func powerLossAll(ctx context.Context, e *Env) error {
	e.Note("all lose power")
	seeds := map[*cluster.Member]uint64{}
	for _, m := range e.Cluster.Members {
		seeds[m] = e.Rand.Uint64()
	}
	if err := onAll(e, func(m *cluster.Member) error { return m.LosePower(ctx, seeds[m]) }); err != nil {
		return err
	}
	return onAll(e, (*cluster.Member).Start)
}
