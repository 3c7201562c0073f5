package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/fault"
	"github.com/orrery-io/orrery/services/store/robustness/faultfs"
	"github.com/orrery-io/orrery/services/store/robustness/report"
	"github.com/orrery-io/orrery/services/store/robustness/sandbox"
)

// shortSeed is that of the short form: CI should fail for what changed, not for what was drawn.
const shortSeed = 1

// options are the flags.
type options struct {
	binary, logStore, only, members, report, keep string
	faults                                        int
	duration                                      time.Duration
	seed                                          uint64
	short, plain, clock, keepGoing                bool
	snapshotEntries, trailingEntries              uint64
}

func main() {
	faultfs.Main() // a disk's process is this program
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "robustness:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	o, err := parse()
	if err != nil {
		return err
	}
	if err := sandbox.Enter(fault.GuardClock()); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	clusters, err := o.clusters()
	if err != nil {
		return err
	}
	fmt.Printf("robustness: seed %d\n", o.seed)
	var all []report.Round
	if o.keep == "" {
		if o.keep, err = os.MkdirTemp("", "orrery-robustness-"); err != nil {
			return err
		}
		defer func() {
			if !slices.ContainsFunc(all, report.Round.Failed) && (err == nil || ctx.Err() != nil) {
				err = errors.Join(err, os.RemoveAll(o.keep)) // nothing to look at
			}
		}()
	}
	for _, c := range clusters {
		rounds, err := newCampaign(o, c).run(ctx)
		all = append(all, rounds...)
		if err != nil {
			return errors.Join(err, o.write(all))
		}
	}
	if err := o.write(all); err != nil {
		return err
	}
	failed := slices.DeleteFunc(slices.Clone(all), func(r report.Round) bool { return !r.Failed() })
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d rounds broke a promise; their histories are in %s", len(failed), len(all), o.keep)
	}
	fmt.Printf("robustness: %d faults, no violation\n", len(all))
	return nil
}

func parse() (*options, error) {
	o := &options{}
	flag.StringVar(&o.binary, "binary", os.Getenv("ORRERY_BIN"), "the orrery program; default $ORRERY_BIN, then bin/orrery")
	flag.IntVar(&o.faults, "faults", 0, "how many faults; 0 means as many as fit into --duration")
	flag.DurationVar(&o.duration, "duration", 0, "how long the run goes on; without it and --faults the run is the short form")
	flag.StringVar(&o.only, "only", "", "faults to choose from, by name and separated by commas; \"list\" shows them")
	flag.Uint64Var(&o.seed, "seed", 0, "what is done when, and to whom; 0 draws one")
	flag.StringVar(&o.members, "members", "3", "how many members, or several clusters one after the other as MEMBERS:FAULTS,...")
	flag.StringVar(&o.logStore, "log-store", "", "the members' --log-store; empty for the default")
	flag.StringVar(&o.report, "report", "", "file to write the table of results into, between its markers")
	flag.StringVar(&o.keep, "keep", "", "folder for logs and the histories of failed rounds; default a new one in the temporary folder, kept when a round fails")
	flag.BoolVar(&o.keepGoing, "keep-going", false, "go on with a new cluster after a failed round")
	flag.BoolVar(&o.plain, "plain-disks", false, "put data into plain folders; disk faults are left out")
	flag.BoolVar(&o.clock, "clock", false, "move the machine's clock, too, for moments")
	flag.Uint64Var(&o.snapshotEntries, "snapshot-entries", 300, "the members' --snapshot-entries")
	flag.Uint64Var(&o.trailingEntries, "trailing-entries", 100, "the members' --trailing-entries")
	flag.Parse()
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q: everything is a flag, see --help", flag.Arg(0))
	}
	if o.only == "list" {
		for _, f := range fault.Table() {
			fmt.Printf("%-22s %s\n", f.Name, f.What)
		}
		os.Exit(0)
	}
	if o.binary == "" {
		o.binary = "bin/orrery"
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(binary); err != nil {
		return nil, fmt.Errorf("the orrery program: %w: build it (make build) or name it with --binary", err)
	}
	o.binary = binary
	o.short = o.faults == 0 && o.duration == 0
	switch {
	case o.seed != 0:
	case o.short:
		o.seed = shortSeed
	default:
		o.seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	return o, nil
}

// shape is one cluster of the run.
type shape struct{ members, faults int }

// clusters reads --members.
func (o *options) clusters() (out []shape, err error) {
	for _, part := range strings.Split(o.members, ",") {
		members, faults, several := strings.Cut(part, ":")
		s := shape{faults: o.faults}
		if s.members, err = strconv.Atoi(members); err == nil && several {
			s.faults, err = strconv.Atoi(faults)
		}
		if err != nil || s.members < 1 || s.members > 7 {
			return nil, fmt.Errorf("--members %q: want a number from 1 to 7, or MEMBERS:FAULTS,...", o.members)
		}
		out = append(out, s)
	}
	return out, nil
}

// command is what does the same again.
func (o *options) command(f string, members int, faults int) string {
	flags := fmt.Sprintf("--only %s --faults %d --members %d --seed %d", f, faults, members, o.seed)
	if o.logStore != "" {
		flags += " --log-store " + o.logStore
	}
	return fmt.Sprintf("make test-robustness ROBUSTFLAGS=%q", flags)
}

func (o *options) write(rounds []report.Round) error {
	fmt.Print(report.Text(rounds))
	if o.report == "" {
		return nil
	}
	return report.Write(o.report, rounds)
}
