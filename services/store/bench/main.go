package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options of a run.
type options struct {
	members  []int
	runs     int
	length   time.Duration
	cases    []string
	dir      string
	logStore string
	// profiles is a folder for CPU profiles of client and servers, empty for none.
	profiles string
	only     string
	verbose  bool
	short    bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		err = serve(ctx, os.Args[2:])
	} else {
		err = drive(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	members := fs.String("members", "1", "members of each store: 1, 3 or 1,3")
	fs.IntVar(&o.runs, "runs", 5, "turns of each store; figures are medians")
	fs.DurationVar(&o.length, "length", 2*time.Second, "how long one case runs in one turn")
	cases := fs.String("cases", strings.Join(caseNames, ","), "the cases to run")
	fs.StringVar(&o.dir, "dir", os.TempDir(), "folder for the data: its disk is what is measured")
	fs.StringVar(&o.logStore, "log-store", "", "Orrery's log store; empty for its default")
	fs.StringVar(&o.profiles, "pprof", "", "folder for CPU and heap profiles of clients and servers, one a case")
	fs.StringVar(&o.only, "only", "", "run one store alone: orrery or etcd")
	fs.BoolVar(&o.verbose, "v", false, "say on standard error what each turn gave and what CPU time it took")
	fs.BoolVar(&o.short, "short", false, "a smoke run of seconds: its figures mean little")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.short {
		o.runs, o.length = 1, 300*time.Millisecond
	}
	for m := range strings.SplitSeq(*members, ",") {
		n, err := strconv.Atoi(m)
		if err != nil || n < 1 || n > 5 {
			return nil, fmt.Errorf("--members %q: want 1, 3 or 5, or several of them with commas", *members)
		}
		o.members = append(o.members, n)
	}
	for c := range strings.SplitSeq(*cases, ",") {
		if !slices.Contains(caseNames, c) {
			return nil, fmt.Errorf("--cases: there is no case %q; there are %s", c, strings.Join(caseNames, ", "))
		}
		o.cases = append(o.cases, c)
	}
	if o.runs < 1 {
		return nil, errors.New("--runs: at least 1")
	}
	if o.only != "" && !slices.Contains(kinds, o.only) {
		return nil, fmt.Errorf("--only %q: want one of %s", o.only, strings.Join(kinds, ", "))
	}
	return o, nil
}

func drive(ctx context.Context, args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, n := range o.members {
		if err := compare(ctx, o, n); err != nil {
			return fmt.Errorf("%d members: %w", n, err)
		}
	}
	return nil
}

// compare runs all turns with clusters of one size and prints the lines.
func compare(ctx context.Context, o *options, members int) error {
	got := newResults()
	for turn := range o.runs {
		order := kinds
		if turn%2 == 1 {
			order = []string{kinds[1], kinds[0]}
		}
		for _, kind := range order {
			if o.only != "" && o.only != kind {
				continue
			}
			if err := take(ctx, o, kind, members, turn, got); err != nil {
				return fmt.Errorf("%s, turn %d: %w", kind, turn+1, err)
			}
		}
	}
	for _, name := range o.cases {
		fmt.Println(got.line(name, members))
	}
	return nil
}

// take is one turn of one store: all cases on one fresh cluster, and rss on another.
func take(ctx context.Context, o *options, kind string, members, turn int, got *results) error {
	root, err := os.MkdirTemp(o.dir, "store-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	var timed []string
	for _, c := range o.cases {
		if c != "rss" {
			timed = append(timed, c)
		}
	}
	if len(timed) > 0 {
		if err := withCluster(ctx, o, kind, members, filepath.Join(root, "timed"), func(b *bench) error {
			for _, name := range timed {
				m, err := b.run(ctx, name, turn)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				got.add(kind, name, m)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	// Memory varies little from turn to turn, and loading takes long: three turns are enough.
	if slices.Contains(o.cases, "rss") && turn < 3 {
		return withCluster(ctx, o, kind, members, filepath.Join(root, "rss"), func(b *bench) error {
			m, err := b.rss(ctx, turn)
			got.add(kind, "rss", m)
			return err
		})
	}
	return nil
}

func withCluster(ctx context.Context, o *options, kind string, members int, dir string, fn func(*bench) error) error {
	c, err := startCluster(ctx, o, kind, members, dir)
	if err != nil {
		return err
	}
	defer c.stop()
	t, err := dial(kind, c.clients())
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.put(ctx, []byte("/bench/ready"), []byte("yes")); err != nil {
		return fmt.Errorf("the first write: %w", err)
	}
	return fn(&bench{o: o, kind: kind, cluster: c, t: t})
}
