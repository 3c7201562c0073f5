package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/cluster"
	"github.com/orrery-io/orrery/services/store/robustness/fault"
	"github.com/orrery-io/orrery/services/store/robustness/history"
	"github.com/orrery-io/orrery/services/store/robustness/report"
	"github.com/orrery-io/orrery/services/store/robustness/traffic"
)

// ballast is how many keys lie in the store for the whole run, so that snapshots are not empty.
const ballast = 1000

// campaign is a sequence of rounds on one cluster, or on one after another when rounds fail.
type campaign struct {
	o      *options
	shape  shape
	faults []fault.Fault
	clock  history.Clock

	dir      string
	cluster  *cluster.Cluster
	informer *traffic.Informer
	clusters int
	// before is the state that the last round left, minus what was deleted since; nil when there was none.
	before map[string]history.KV
	// unknown are the writes of all rounds on this cluster that may be made yet.
	unknown []*history.Op
	number  int
}

func newCampaign(o *options, s shape) *campaign {
	return &campaign{o: o, shape: s, clock: history.NewClock()}
}

// run makes the rounds. It ends early with the first that fails, unless it is to keep going.
func (c *campaign) run(ctx context.Context) (rounds []report.Round, err error) {
	if err := c.choose(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	begun := time.Now()
	var order []fault.Fault
	for ; ctx.Err() == nil && c.more(begun); c.number++ {
		if c.cluster == nil {
			if err := c.open(ctx); err != nil {
				return rounds, err
			}
		}
		rng := rand.New(rand.NewPCG(c.o.seed, uint64(c.number)))
		if c.number%len(c.faults) == 0 {
			order = append(order[:0], c.faults...)
			if !c.o.short {
				rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
		}
		r := c.round(ctx, order[c.number%len(c.faults)], rng)
		if ctx.Err() != nil {
			return rounds, errors.New("interrupted")
		}
		rounds = append(rounds, r)
		fmt.Printf("robustness: %s\n", r.Line())
		if len(r.Violations) == 0 {
			continue
		}
		for _, v := range r.Violations {
			fmt.Printf("  VIOLATION %s\n", v)
		}
		fmt.Printf("  history and logs: %s\n  again: %s\n", c.dir, c.o.command(r.Fault, c.shape.members, 20))
		if !c.o.keepGoing {
			return rounds, fmt.Errorf("round %d (%s) broke a promise", r.Number, r.Fault)
		}
		if err := c.close(); err != nil {
			slog.Warn("the failed cluster did not close in order", "err", err)
		}
	}
	if ctx.Err() != nil {
		return rounds, errors.New("interrupted")
	}
	return rounds, nil
}

func (c *campaign) more(begun time.Time) bool {
	switch {
	case c.o.short:
		return c.number < len(c.faults)
	case c.shape.faults > 0:
		return c.number < c.shape.faults
	}
	return time.Since(begun) < c.o.duration
}

// choose finds the faults that apply.
func (c *campaign) choose() error {
	only := map[string]bool{}
	for _, name := range strings.FieldsFunc(c.o.only, func(r rune) bool { return r == ',' || r == ' ' }) {
		only[name] = true
	}
	for _, f := range fault.Table() {
		if len(only) > 0 && !only[f.Name] {
			continue
		}
		delete(only, f.Name)
		switch {
		case f.Members > c.shape.members:
		case f.Disk && c.o.plain:
		case c.o.short && !f.Short && c.o.only == "":
		case f.Clock && !c.o.clock:
			if !c.o.short {
				fmt.Printf("robustness: %s is left out: it moves this machine's clock; --clock allows it\n", f.Name)
			}
		case f.Clock && fault.ClockMovable() != nil:
			fmt.Printf("robustness: %s is left out: %v\n", f.Name, fault.ClockMovable())
		default:
			c.faults = append(c.faults, f)
		}
		if len(only) == 0 && c.o.only != "" {
			break
		}
	}
	for name := range only {
		return fmt.Errorf("--only: there is no fault %q; --only list shows them", name)
	}
	if len(c.faults) == 0 {
		return fmt.Errorf("no fault applies to a cluster of %d with these flags", c.shape.members)
	}
	return nil
}

// open starts a cluster and fills it.
func (c *campaign) open(ctx context.Context) error {
	c.clusters++
	c.dir = filepath.Join(c.o.keep, fmt.Sprintf("members%d-cluster%d", c.shape.members, c.clusters))
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	cfg := cluster.Config{
		Binary: c.o.binary, Dir: c.dir, Members: c.shape.members, FaultyDisks: !c.o.plain,
		SnapshotEntries: c.o.snapshotEntries, TrailingEntries: c.o.trailingEntries, Logger: slog.Default(),
	}
	if c.o.logStore != "" {
		cfg.StoreFlags = []string{"--log-store", c.o.logStore}
	}
	var err error
	if c.cluster, err = cluster.New(cfg); err != nil {
		return fmt.Errorf("starting %d members: %w", c.shape.members, err)
	}
	start, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := c.cluster.Writable(start); err != nil {
		return fmt.Errorf("a new cluster (logs in %s): %w", c.dir, err)
	}
	for i := 0; i < ballast; i += 100 {
		var req kv.TxnRequest
		for j := i; j < i+100; j++ {
			key := fmt.Sprintf("%sballast/%04d", history.Root, j)
			req.Then = append(req.Then, kv.Op{Put: &kv.PutRequest{Key: []byte(key), Value: history.Value(key)}})
		}
		if _, err := c.cluster.Balanced[0].Txn(start, req); err != nil {
			return fmt.Errorf("filling a new cluster: %w", err)
		}
	}
	c.before, c.unknown = nil, nil
	c.informer = traffic.NewInformer(c.cluster.Balanced[1])
	return nil
}

func (c *campaign) close() error {
	if c.cluster == nil {
		return nil
	}
	if c.informer != nil {
		c.informer.Close()
	}
	err := c.cluster.Close()
	c.cluster, c.informer = nil, nil
	return err
}
