package main

import (
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectl runs the linked-in kubectl and returns its exit code.
func kubectl(args []string) int {
	// It reads its command line, and that of its plugins, from os.Args.
	os.Args = append([]string{"kubectl"}, args...)
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints and exits as kubectl does
	}
	return 0
}

// kubectlCommand only shows up in the help: main hands the command line to kubectl before cobra reads it.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{Use: "kubectl", GroupID: "tool", Short: "The real kubectl, linked in", DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { os.Exit(kubectl(args)) }}
}
