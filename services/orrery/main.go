package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	// kubectl parses its own command line and comes before cobra sees a flag of it.
	if len(os.Args) > 1 && os.Args[1] == "kubectl" {
		os.Exit(kubectl(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := root().ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return
	}
	fmt.Fprintln(os.Stderr, "orrery:", err)
	os.Exit(1)
}

func root() *cobra.Command {
	cmd := &cobra.Command{
		Use:           "orrery",
		Short:         "A Kubernetes-compatible control plane in one binary",
		Long:          "Orrery runs containers on your machines with Kubernetes' API. Begin with `orrery up`, then `orrery kubectl get nodes`.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
	}
	cmd.AddGroup(&cobra.Group{ID: "cluster", Title: "A cluster:"}, &cobra.Group{ID: "service", Title: "Its services, one process each:"}, &cobra.Group{ID: "tool", Title: "Tools:"})
	cmd.AddCommand(upCommand())
	for _, s := range services {
		cmd.AddCommand(s.command())
	}
	cmd.AddCommand(kubectlCommand(), getCommand(), membersCommand(), snapshotCommand(), alarmsCommand(), compactCommand(), pkiCommand())
	return cmd
}
