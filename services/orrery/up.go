package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/internal/config"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/node"
)

// upOptions are the flags of `orrery up`.
type upOptions struct {
	processOptions
	dataDir, kubeconfig, runtime, listen string
	nodes                                int
	multiProcess                         bool
	registryMirrors                      []string
}

// startTimeout bounds how long a cluster may take to become ready.
const startTimeout = 2 * time.Minute

func upCommand() *cobra.Command {
	o := &upOptions{}
	cmd := &cobra.Command{Use: "up", GroupID: "cluster", Short: "Start a cluster on this machine", Args: cobra.NoArgs,
		Long: "Up starts store, api, gateway, controllers, scheduler and node agents, waits until every node is Ready, writes a kubeconfig and keeps the cluster running until it is told to stop " +
			"(SIGTERM or Ctrl-C). The state is kept in the data folder: starting again goes on where it was.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), "up", func(ctx context.Context, logger *slog.Logger) error {
				return o.up(ctx, logger, cmd.OutOrStdout())
			})
		}}
	flags := cmd.Flags()
	flags.StringVar(&o.dataDir, "data-dir", defaultDataDir(), "folder for all state")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "where to write the administrator's kubeconfig (default: kubeconfig in the data folder)")
	flags.StringVar(&o.runtime, "runtime", "auto", "auto, containerd or simulated; auto is containerd where there is one and this is root")
	flags.IntVar(&o.nodes, "nodes", 1, "number of nodes")
	flags.StringVar(&o.listen, "listen", "127.0.0.1:6443", "host:port of Kubernetes' REST API; port 0 picks one")
	flags.BoolVar(&o.multiProcess, "multi-process", false, "run each service in a process of its own, restarted when it dies")
	flags.StringSliceVar(&o.registryMirrors, "registry-mirror", nil, "registry to pull from first, as docker.io=http://127.0.0.1:5000; may be repeated")
	o.processOptions.bind(flags)
	config.Attach(cmd)
	return cmd
}

// defaultDataDir is the system's place for root, the user's for others.
func defaultDataDir() string {
	if os.Geteuid() == 0 {
		return "/var/lib/orrery"
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local/share/orrery")
	}
	return "orrery-data"
}

func (o *upOptions) up(ctx context.Context, logger *slog.Logger, out io.Writer) error {
	if o.nodes < 1 || o.nodes > 5000 {
		return fmt.Errorf("--nodes %d: want 1 to 5000", o.nodes)
	}
	runtime, err := chooseRuntime(o.runtime, out)
	if err != nil {
		return err
	}
	if o.dataDir, err = filepath.Abs(o.dataDir); err != nil {
		return err
	}
	unlock, err := lockDataDir(o.dataDir)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := ensurePorts(o.dataDir, o.listen)
	if err != nil {
		return err
	}
	layout, err := pki.Ensure(filepath.Join(o.dataDir, "pki"), o.pkiOptions(runtime))
	if err != nil {
		return err
	}
	if o.kubeconfig == "" {
		o.kubeconfig = filepath.Join(o.dataDir, "kubeconfig")
	}
	if err := layout.WriteKubeconfig(o.kubeconfig, pki.Admin, "https://"+reachable(p.Gateway)); err != nil {
		return err
	}

	begun := time.Now()
	starting, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("the cluster was not ready within %s", startTimeout))
	defer cancel()
	cluster, err := o.start(starting, logger, o.plan(p, runtime), p.Gateway)
	if err != nil {
		return err
	}
	life, end := context.WithCancelCause(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		if err := waitForNodes(starting, layout, p.API, o.nodeNames(runtime), begun); err != nil {
			end(o.explain(err))
			return
		}
		fmt.Fprintf(out, "orrery is ready\nkubeconfig: %s\n", o.kubeconfig)
	})
	err = cluster.Wait(life)
	cancel()
	group.Wait()
	if cause := context.Cause(life); ctx.Err() == nil && cause != nil {
		err = errors.Join(cause, err)
	}
	return err
}

// explain adds where to look when the cluster does not get ready.
func (o *upOptions) explain(err error) error {
	if o.multiProcess {
		return fmt.Errorf("%w: the services' logs are in %s", err, filepath.Join(o.dataDir, "logs"))
	}
	return err
}

// chooseRuntime resolves auto and checks what was asked for.
func chooseRuntime(asked string, out io.Writer) (string, error) {
	auto, reason := node.AutoRuntime()
	switch asked {
	case node.RuntimeSimulated:
		return asked, nil
	case node.RuntimeContainerd:
		if reason != "" {
			return "", fmt.Errorf("--runtime containerd: %s; --runtime simulated needs nothing", reason)
		}
		return asked, nil
	case node.RuntimeAuto:
		if reason != "" {
			fmt.Fprintf(out, "simulated containers are used: %s\n", reason)
		}
		return auto, nil
	}
	return "", fmt.Errorf("--runtime %q: want auto, containerd or simulated", asked)
}
