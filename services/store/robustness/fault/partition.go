package fault

import (
	"context"
	"errors"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/cluster"
)

// cut drops what passes from one to the other; both ways makes it both.
func cut(e *Env, from, to string, both bool) error {
	err := e.Cluster.Network().Cut(from, to)
	if both {
		err = errors.Join(err, e.Cluster.Network().Cut(to, from))
	}
	return err
}

// during holds what make has broken and heals the network.
func during(ctx context.Context, e *Env, d time.Duration, make func() error) error {
	err := make()
	if err == nil {
		err = hold(ctx, d)
	}
	return errors.Join(err, e.Cluster.Network().Heal())
}

func partitionLeader(ctx context.Context, e *Env) error {
	l, err := e.leader(ctx)
	if err != nil {
		return err
	}
	e.Note("cut %s off from the others", l.Name)
	return during(ctx, e, e.between(time.Second, 4*time.Second), func() error { return separate(e, []*cluster.Member{l}) })
}

// separate cuts some members off from all others.
func separate(e *Env, some []*cluster.Member) error {
	in := map[*cluster.Member]bool{}
	for _, m := range some {
		in[m] = true
	}
	var errs []error
	for _, a := range some {
		for _, b := range e.Cluster.Members {
			if !in[b] {
				errs = append(errs, cut(e, a.Address, b.Address, true))
			}
		}
	}
	return errors.Join(errs...)
}

func partitionMinority(ctx context.Context, e *Env) error {
	l, err := e.leader(ctx)
	if err != nil {
		return err
	}
	others := e.Cluster.Others(l)
	e.Rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	some := others[:(len(e.Cluster.Members)-1)/2]
	e.Note("cut %d followers off, %s among them", len(some), some[0].Name)
	return during(ctx, e, e.between(time.Second, 4*time.Second), func() error { return separate(e, some) })
}

func partitionPartial(ctx context.Context, e *Env) error {
	l, err := e.leader(ctx)
	if err != nil {
		return err
	}
	others := e.Cluster.Others(l)
	f := others[e.Rand.IntN(len(others))]
	e.Note("cut %s and %s off from each other", l.Name, f.Name)
	return during(ctx, e, e.between(2*time.Second, 4*time.Second), func() error { return cut(e, l.Address, f.Address, true) })
}

func oneWayFromLeader(ctx context.Context, e *Env) error { return oneWay(ctx, e, true) }
func oneWayToLeader(ctx context.Context, e *Env) error   { return oneWay(ctx, e, false) }

func oneWay(ctx context.Context, e *Env, from bool) error {
	l, err := e.leader(ctx)
	if err != nil {
		return err
	}
	e.Note("lose what passes between %s and the others in one direction", l.Name)
	return during(ctx, e, e.between(2*time.Second, 4*time.Second), func() error {
		var errs []error
		for _, o := range e.Cluster.Others(l) {
			if from {
				errs = append(errs, cut(e, l.Address, o.Address, false))
			} else {
				errs = append(errs, cut(e, o.Address, l.Address, false))
			}
		}
		return errors.Join(errs...)
	})
}

func isolateLeader(ctx context.Context, e *Env) error   { return onOne(ctx, e, e.leader, isolate) }
func isolateFollower(ctx context.Context, e *Env) error { return onOne(ctx, e, e.follower, isolate) }

func isolate(ctx context.Context, e *Env, m *cluster.Member) error {
	e.Note("cut %s off from everybody", m.Name)
	return during(ctx, e, e.between(2*time.Second, 4*time.Second), func() error {
		return errors.Join(separate(e, []*cluster.Member{m}), cut(e, m.Address, cluster.Host, true))
	})
}
