package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/cluster"
)

func replaceMember(ctx context.Context, e *Env) error { return onOne(ctx, e, e.follower, replace) }
func replaceLeader(ctx context.Context, e *Env) error { return onOne(ctx, e, e.leader, replace) }

func replace(ctx context.Context, e *Env, m *cluster.Member) error {
	e.Note("replace %s", m.Name)
	if err := m.Kill(ctx); err != nil {
		return err
	}
	return e.Cluster.Replace(ctx, m)
}

// snapshotDown is long enough for the log to be cut behind a member that is down, with the small settings of a run.
const snapshotDown = 2500 * time.Millisecond

func snapshotInstall(ctx context.Context, e *Env) error { return behind(ctx, e, false) }

func snapshotInstallKill(ctx context.Context, e *Env) error { return behind(ctx, e, true) }

func behind(ctx context.Context, e *Env, again bool) error {
	m, err := e.follower(ctx)
	if err != nil {
		return err
	}
	e.Note("%s is down until the log no longer reaches back", m.Name)
	if err := m.Kill(ctx); err != nil {
		return err
	}
	if err := hold(ctx, snapshotDown); err != nil {
		return err
	}
	if err := m.Start(); err != nil || !again {
		return err
	}
	if err := hold(ctx, e.between(100*time.Millisecond, 800*time.Millisecond)); err != nil {
		return err
	}
	e.Note("kill %s while it catches up", m.Name)
	if err := m.Kill(ctx); err != nil {
		return err
	}
	return m.Start()
}

func compact(ctx context.Context, e *Env) error {
	e.Record.Compacts = true
	for range 10 {
		if err := hold(ctx, e.between(50*time.Millisecond, 300*time.Millisecond)); err != nil {
			return err
		}
		rev := e.Traffic.Delivered()
		if rev <= e.Record.Base {
			continue
		}
		if err := e.Cluster.Balanced[0].Compact(ctx, rev); err != nil && !errors.Is(err, kv.ErrCompacted) {
			return fmt.Errorf("compacting to %d: %w", rev, err)
		}
	}
	return nil
}

func moveLeader(ctx context.Context, e *Env) error {
	for range 3 {
		m, err := e.follower(ctx)
		if err != nil {
			return err
		}
		e.Note("%s is to lead", m.Name)
		call, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err = e.Cluster.Balanced[0].Membership().MoveLeader(call, &storev1.MoveLeaderRequest{Name: m.Name})
		cancel()
		if err != nil {
			e.Note("it was refused: %v", err) // as it may be when the member lags
		}
		if err := hold(ctx, e.between(200*time.Millisecond, time.Second)); err != nil {
			return err
		}
	}
	return nil
}

func defragment(ctx context.Context, e *Env) error {
	for _, m := range e.Cluster.Members {
		call, cancel := context.WithTimeout(ctx, 20*time.Second)
		r, err := m.Client.Maintenance().Defragment(call, &storev1.DefragmentRequest{})
		cancel()
		if err != nil {
			return fmt.Errorf("defragmenting %s: %w", m.Name, err)
		}
		e.Note("%s: %d bytes became %d", m.Name, r.BytesBefore, r.BytesAfter)
		if err := hold(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func saveSnapshot(ctx context.Context, e *Env) error {
	for _, m := range e.Cluster.Members {
		stream, err := m.Client.Maintenance().Snapshot(ctx, &storev1.SnapshotRequest{})
		if err != nil {
			return fmt.Errorf("a snapshot of %s: %w", m.Name, err)
		}
		size := 0
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("a snapshot of %s, after %d bytes: %w", m.Name, size, err)
			}
			size += len(part.Data)
		}
		e.Note("%s: %d bytes", m.Name, size)
		if err := hold(ctx, 300*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
