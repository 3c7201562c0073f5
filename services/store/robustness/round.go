package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	storev1 "github.com/orrery-io/orrery/gen/go/orrery/store/v1"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/check"
	"github.com/orrery-io/orrery/services/store/robustness/fault"
	"github.com/orrery-io/orrery/services/store/robustness/history"
	"github.com/orrery-io/orrery/services/store/robustness/report"
	"github.com/orrery-io/orrery/services/store/robustness/traffic"
)

const (
	// faultTimeout bounds a fault with its healing, recoverTimeout the time until every member takes writes again, and
	// restTimeout the end of a round.
	faultTimeout   = 90 * time.Second
	recoverTimeout = 30 * time.Second
	restTimeout    = 40 * time.Second
	// searchTimeout bounds the search for a linearization of one key.
	searchTimeout = 20 * time.Second
)

// round is one fault, with traffic before, during and after it, and the judgement.
func (c *campaign) round(ctx context.Context, f fault.Fault, rng *rand.Rand) report.Round {
	record := &history.Round{Number: c.number, Fault: f.Name, Late: c.unknown}
	out := report.Round{Number: c.number, Fault: f.Name, Members: c.shape.members, LogStore: c.o.logStore}
	violate := func(name string, err error) {
		out.Violations = append(out.Violations, check.Violation{Check: name, Detail: err.Error()}.String())
	}
	begun := time.Now()
	finished := c.play(ctx, f, rng, record, &out, violate)
	if finished {
		for _, v := range check.Round(record, check.Options{Timeout: searchTimeout, Picture: filepath.Join(c.dir, "linearizability.html")}) {
			out.Violations = append(out.Violations, v.String())
		}
		c.noteUnknown(record)
		c.compareCopies(ctx, violate)
		c.compareMembers(ctx, violate)
	}
	for _, s := range c.cluster.Surprises() {
		out.Violations = append(out.Violations, "processes: "+s)
	}
	out.Count(record)
	if ctx.Err() == nil && len(out.Violations) > 0 {
		c.cluster.Dump(c.dir)
		if err := record.Save(filepath.Join(c.dir, fmt.Sprintf("round%d", c.number))); err != nil {
			violate("history", err)
		}
	} else if ctx.Err() == nil {
		if err := c.tidy(ctx, record); err != nil {
			violate("tidying up", err)
		}
	}
	out.Took = time.Since(begun)
	return out
}

// play runs the traffic and the fault; false means that there is nothing whole to judge.
func (c *campaign) play(ctx context.Context, f fault.Fault, rng *rand.Rand, record *history.Round, out *report.Round, violate func(string, error)) bool {
	clients := &traffic.Clients{}
	for _, b := range c.cluster.Balanced {
		clients.Balanced = append(clients.Balanced, b)
	}
	for _, m := range c.cluster.Members {
		clients.Pinned = append(clients.Pinned, traffic.Pinned{Member: m.Name, KV: m.Client})
	}
	start, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	t, err := traffic.Start(start, record, clients, c.clock, rng)
	if err != nil {
		violate("begin", err)
		return false
	}
	c.sameAsBefore(record, violate)
	fail := func(name string, err error) bool {
		violate(name, err)
		c.cluster.Dump(c.dir) // while it still is as it is
		t.Abort()
		return false
	}
	pause(ctx, 500*time.Millisecond+time.Duration(rng.IntN(500))*time.Millisecond)
	env := &fault.Env{Cluster: c.cluster, Traffic: t, Record: record, Rand: rng, Note: func(format string, args ...any) {
		out.Notes = append(out.Notes, fmt.Sprintf(format, args...))
	}}
	breaking, cancel := context.WithTimeout(ctx, faultTimeout)
	defer cancel()
	if err := f.Run(breaking, env); err != nil {
		return fail("fault", err)
	}
	healed := time.Now()
	recovering, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	if err := c.cluster.Writable(recovering); err != nil {
		return fail("recovery", fmt.Errorf("%v after everything was well again: %w", recoverTimeout, err))
	}
	out.Recovery = time.Since(healed)
	c.cluster.Settle()
	pause(ctx, 700*time.Millisecond)
	rest, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	if err := t.Finish(rest); err != nil {
		violate("rest", err)
		c.cluster.Dump(c.dir)
		return false
	}
	return true
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// sameAsBefore checks that nothing changed between two rounds, but for writes that came late.
func (c *campaign) sameAsBefore(record *history.Round, violate func(string, error)) {
	if c.before == nil {
		return
	}
	for key := range c.before {
		if was, is := c.before[key], record.State[key]; is != was && !c.late(key, was, is) {
			violate("between rounds", fmt.Errorf("%s was %+v and is %+v, and nobody wrote", key, was, is))
			return
		}
	}
	for key, is := range record.State {
		if _, ok := c.before[key]; !ok && !c.late(key, history.KV{}, is) {
			violate("between rounds", fmt.Errorf("%s was not there and is %+v, and nobody wrote", key, is))
			return
		}
	}
}

// late reports whether a write of unknown outcome explains a change.
func (c *campaign) late(key string, was, is history.KV) bool {
	for _, o := range c.unknown {
		if slices.Contains(o.Keys, key) && (o.Kind == history.Delete && is.Mod == 0 && was.Mod == o.Expect || o.Kind != history.Delete && is.Value == o.Value) {
			return true
		}
	}
	return false
}

// noteUnknown remembers the writes of which nobody knows whether they will be made yet.
func (c *campaign) noteUnknown(record *history.Round) {
	var open []*history.Op
	for _, o := range slices.Concat(record.Late, record.Ops) {
		if o.Writes() && o.Outcome == history.Unknown {
			open = append(open, o)
		}
	}
	c.unknown = open
}

// compareCopies checks what the informer holds against a list.
func (c *campaign) compareCopies(ctx context.Context, violate func(string, error)) {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	for {
		list, err := c.cluster.Balanced[0].Range(ctx, kv.RangeRequest{Key: []byte(history.Root), End: kv.PrefixEnd([]byte(history.Root))})
		if err != nil {
			violate("informer", fmt.Errorf("a list to compare it with: %w", err))
			return
		}
		state := traffic.Versions(list.KVs)
		err = c.informer.Compare(ctx, list.Revision, state)
		if errors.Is(err, traffic.ErrAhead) {
			continue // a write came late
		}
		if err != nil {
			violate("informer", err)
		}
		c.before = map[string]history.KV{}
		for _, v := range state {
			c.before[v.Key] = v
		}
		return
	}
}

// compareMembers has the members compare all that they hold, history and leases too.
func (c *campaign) compareMembers(ctx context.Context, violate func(string, error)) {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	resp, err := c.cluster.Balanced[0].Maintenance().CheckConsistency(ctx, &storev1.CheckConsistencyRequest{})
	switch {
	case err != nil:
		violate("members agree", err)
	case !resp.Consistent || len(resp.Members) != c.shape.members:
		violate("members agree", fmt.Errorf("at log entry %d they hold %v", resp.RaftIndex, resp.Members))
	}
}

// tidy deletes the objects of the round before this one, which have served to show that nothing is lost later, and forgets
// the history before this one.
func (c *campaign) tidy(ctx context.Context, record *history.Round) error {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	store := c.cluster.Balanced[0]
	if record.Number > 0 {
		prefix := []byte(traffic.Prefix(record.Number - 1))
		if _, err := store.Txn(ctx, kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: prefix, End: kv.PrefixEnd(prefix)}}}}); err != nil {
			return err
		}
		for key := range c.before {
			if strings.HasPrefix(key, string(prefix)) {
				delete(c.before, key)
			}
		}
	}
	if record.Compacts || record.Base == 0 {
		return nil // it has been further than that
	}
	return store.Compact(ctx, record.Base)
}
