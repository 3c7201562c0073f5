package cluster

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
)

// Replace makes a member anew: it is removed, its data is wiped, it comes back as a learner and is promoted when it has
// caught up. Its process must have ended.
func (c *Cluster) Replace(ctx context.Context, m *Member) error {
	members := c.Balanced[0].Membership()
	if err := again(ctx, func(ctx context.Context) error {
		_, err := members.RemoveMember(ctx, &storev1.RemoveMemberRequest{Name: m.Name})
		if status.Code(err) == codes.NotFound { // an earlier attempt whose answer was lost
			return nil
		}
		return err
	}); err != nil {
		return fmt.Errorf("removing %s: %w", m.Name, err)
	}
	if err := m.Wipe(); err != nil {
		return err
	}
	if err := m.Start(); err != nil {
		return err
	}
	if err := again(ctx, func(ctx context.Context) error {
		_, err := members.AddLearner(ctx, &storev1.AddLearnerRequest{Name: m.Name, RaftAddress: m.RaftAddress()})
		return err
	}); err != nil {
		return fmt.Errorf("adding %s: %w", m.Name, err)
	}
	if err := again(ctx, func(ctx context.Context) error {
		_, err := members.PromoteMember(ctx, &storev1.PromoteMemberRequest{Name: m.Name})
		return err
	}); err != nil {
		return fmt.Errorf("promoting %s: %w", m.Name, err)
	}
	return nil
}

// again repeats a change of the members until it is made: a leader may be lost under way, a learner may lag.
func again(ctx context.Context, f func(context.Context) error) error {
	for {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := f(call)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
