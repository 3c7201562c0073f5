package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/procgroup"
)

// stopTimeout is how long a service may take to stop. A node takes its containers down, for which it allows itself a minute.
const stopTimeout = 70 * time.Second

// parts are the started services of a cluster: procgroup's Group or Supervisor.
type parts interface {
	// Wait blocks until ctx is over or a part fails for good, then stops all.
	Wait(ctx context.Context) error
	Stop() error
}

// start starts the parts one after the other. ctx bounds the start alone.
func (o *upOptions) start(ctx context.Context, logger *slog.Logger, plan []part, gateway string) (parts, error) {
	if o.multiProcess {
		return o.startProcesses(logger, plan, gateway)
	}
	group := &procgroup.Group{Logger: logger, StopTimeout: stopTimeout}
	for _, p := range plan {
		if err := startInProcess(ctx, group, logger, p); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), group.Stop())
		}
	}
	return group, nil
}

// startInProcess builds and runs one part here.
func startInProcess(ctx context.Context, group *procgroup.Group, logger *slog.Logger, p part) error {
	options := serviceNamed(p.service).options()
	flags := pflag.NewFlagSet(p.name, pflag.ContinueOnError)
	options.bind(flags)
	if err := flags.Parse(p.args); err != nil {
		return err
	}
	service, err := options.build(logger)
	if err != nil {
		return err
	}
	member := procgroup.Member{Name: p.name, Run: service.Run}
	switch p.service {
	case "store", "api", "gateway":
		// The ones that others connect to; the rest get ready side by side.
		member.Ready = service.Ready()
	}
	return group.Start(ctx, member)
}

// startProcesses starts a supervised process for each part; they find each other by retrying.
// The front door's socket, on the address gateway, is kept open here: who
// connects while the gateway is being restarted waits a moment instead of being refused.
func (o *upOptions) startProcesses(logger *slog.Logger, plan []part, gateway string) (_ parts, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program to start it again: %w", err)
	}
	// A node stops its containers when it is told to, which takes their grace period.
	listener, err := listeningFile(gateway)
	if err != nil {
		return nil, err
	}
	supervisor, err := procgroup.NewSupervisor(o.dataDir, procgroup.Options{StopTimeout: 40 * time.Second, Logger: logger})
	if err != nil {
		return nil, err
	}
	for _, p := range plan {
		args := append([]string{p.service, "--log-level", o.logLevel, "--log-format", o.logFormat}, p.args...)
		process := procgroup.Process{Name: p.name, Command: self, Args: args}
		if p.service == "gateway" {
			process.Listeners = []*os.File{listener}
		}
		if err := supervisor.Start(process); err != nil {
			return nil, errors.Join(err, supervisor.Stop(), listener.Close())
		}
	}
	return processes{supervisor, listener}, nil
}

// processes are the supervised ones with the socket that is kept for them.
type processes struct {
	*procgroup.Supervisor
	listener *os.File
}

// Wait blocks until ctx is over, then stops all.
func (p processes) Wait(ctx context.Context) error {
	return errors.Join(p.Supervisor.Wait(ctx), p.listener.Close())
}

// waitForNodes waits until every node has said since then that it is Ready.
func waitForNodes(ctx context.Context, layout *pki.Layout, api string, names []string, since time.Time) error {
	tls, err := layout.ClientTLS(pki.Admin, "localhost")
	if err != nil {
		return err
	}
	client, closeConn, err := apiclient.Dial(apiclient.Config{Addresses: []string{api}, TLS: tls, UserAgent: "orrery-up"})
	if err != nil {
		return err
	}
	defer closeConn()
	watching, cancel := context.WithCancel(ctx)
	changed := make(chan struct{}, 1)
	note := func(*corev1.Node, informer.Cause) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	nodes := informer.Of(client.Nodes(), informer.Options[*corev1.Node]{Clock: clock.RealClock{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	nodes.AddHandler(informer.Handler[*corev1.Node]{Add: note, Update: func(_, n *corev1.Node, c informer.Cause) { note(n, c) }})
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	group.Go(func() { _ = nodes.Run(watching) })
	for {
		waiting := ""
		for _, name := range names {
			if node, ok := nodes.Get(name); !ok || !ready(node, since) {
				waiting = name
				break
			}
		}
		if waiting == "" {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%w: node %s is not Ready", context.Cause(ctx), waiting)
		case <-time.After(time.Minute):
		}
	}
}

// ready tells whether the node says so and has said so since then: an old status may stand in a store that is started again.
func ready(node *corev1.Node, since time.Time) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			// Times in objects are whole seconds.
			return !c.LastHeartbeatTime.Time.Before(since.Truncate(time.Second))
		}
	}
	return false
}
