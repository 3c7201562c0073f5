package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/store/client"
	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/operator"
)

// pageSize is how many keys are read at a time, getTimeout how long a page may take.
const (
	pageSize   = 1000
	getTimeout = 10 * time.Second
)

// getOptions are the flags of `orrery get`.
type getOptions struct {
	operatorOptions
	prefix, keysOnly, countOnly bool
	limit, revision             int64
	consistency                 string
}

func getCommand() *cobra.Command {
	o := &getOptions{}
	cmd := &cobra.Command{Use: "get KEY", GroupID: "tool", Short: "Read the running store, as etcdctl does", Args: cobra.ExactArgs(1),
		Long: "Get reads keys of the running store with the identity found in the data folder. It prints each key and, on the next line, its value as it is stored; " +
			"-o json and -o yaml print objects decoded, with their revisions.",
		Example: "  orrery get --prefix --keys-only /registry/pods/\n  orrery get -o yaml /registry/deployments/default/web\n  orrery get --prefix --count-only /registry/",
		RunE: func(cmd *cobra.Command, args []string) error {
			serializable, err := serializable(o.consistency)
			if err != nil {
				return err
			}
			if o.limit < 0 || o.revision < 0 {
				return errors.New("--limit and --revision: want a number of at least 0")
			}
			printer, err := newKeyPrinter(cmd.OutOrStdout(), o.output, o.keysOnly)
			if err != nil {
				return err
			}
			cfg := client.Config{Timeout: getTimeout}
			if serializable {
				// A member that does not serve, for want of a leader, still shows what it has.
				cfg.DialOptions = []grpc.DialOption{grpc.WithDisableHealthCheck()}
			}
			store, err := o.client(cfg)
			if err != nil {
				return err
			}
			defer store.Close()
			return o.get(cmd.Context(), cmd.OutOrStdout(), store, args[0], serializable, printer)
		}}
	flags := cmd.Flags()
	o.bindStore(flags)
	flags.StringVarP(&o.output, "output", "o", "", "json or yaml, with built-in kinds decoded; keys and values as they are when empty")
	flags.BoolVar(&o.prefix, "prefix", false, "read every key that begins with KEY")
	flags.BoolVar(&o.keysOnly, "keys-only", false, "print keys without values")
	flags.BoolVar(&o.countOnly, "count-only", false, "print the number of keys")
	flags.Int64Var(&o.limit, "limit", 0, "print at most so many keys; 0 means all")
	flags.Int64Var(&o.revision, "revision", 0, "read the store as it was at a revision; 0 means now")
	bindConsistency(cmd, &o.consistency)
	return cmd
}

func (o *getOptions) get(ctx context.Context, w io.Writer, store kv.KV, key string, serializable bool, printer *keyPrinter) error {
	request := kv.RangeRequest{Key: []byte(key), KeysOnly: o.keysOnly, CountOnly: o.countOnly, Revision: o.revision, Serializable: serializable}
	if o.prefix {
		request.End = kv.PrefixEnd(request.Key)
	}
	var count, printed int64
	for first := true; ; first = false {
		if request.Limit = pageSize; o.limit > 0 {
			request.Limit = min(pageSize, o.limit-printed)
		}
		page, err := store.Range(ctx, request)
		if err != nil {
			return fmt.Errorf("reading %s: %w", key, o.explain(ctx, err))
		}
		if first {
			count = page.Count
			printer.begin(page.Revision, count)
		}
		if o.countOnly {
			return printer.count(count)
		}
		for _, pair := range page.KVs {
			if err := printer.print(pair); err != nil {
				return err
			}
			printed++
		}
		if !page.More || o.limit > 0 && printed >= o.limit {
			break
		}
		// The next page begins after the last key, at the same revision.
		request.Revision = page.Revision
		request.Key = append(page.KVs[len(page.KVs)-1].Key, 0)
	}
	if err := printer.end(); err != nil {
		return err
	}
	if printed == 0 && !o.prefix {
		return errors.New("no such key: " + key)
	}
	return nil
}

// explain adds the cause, as far as the members say it, and the next step.
func (o *getOptions) explain(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, kv.ErrCompacted):
		return fmt.Errorf("%w; `orrery members status -o json` shows the oldest revision that is left as compactRevision", err)
	case !errors.Is(err, kv.ErrNoLeader) && !errors.Is(err, context.DeadlineExceeded):
		return err
	}
	asking := o.operatorOptions
	asking.output, asking.timeout = "table", operator.DefaultTimeout
	op, openErr := asking.operator()
	if openErr != nil {
		return err
	}
	defer op.Close()
	members, askErr := op.Members(ctx)
	if askErr != nil {
		return fmt.Errorf("%w\n%w", err, askErr)
	}
	for _, m := range members {
		if m.Problem != "" {
			err = fmt.Errorf("%w\nmember %q: %s", err, m.Name, m.Problem)
		}
	}
	return fmt.Errorf("%w\n`orrery members status` shows the members, --consistency=s reads without a leader", err)
}
