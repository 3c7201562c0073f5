package main

import (
	"os"
	"runtime/debug"
	"strings"
	_ "unsafe" // for go:linkname

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	kubeversion "k8s.io/component-base/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

// kubectl runs the linked-in kubectl and returns its exit code.
func kubectl(args []string) int {
	// It reads its command line, and that of its plugins, from os.Args.
	os.Args = append([]string{"kubectl"}, args...)
	nameKubectl()
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints and exits as kubectl does
	}
	return 0
}

// kubectlVersion is kubectl's own version. Kubernetes sets it with the linker's -X; left as it is, it does not parse and `kubectl version` fails. Set here,
// it is right however the program was built.
//
//go:linkname kubectlVersion k8s.io/component-base/version.gitVersion
var kubectlVersion string

// nameKubectl takes the version from the module that is linked in: k8s.io/kubectl v0.37.2 is kubectl v1.37.2.
func nameKubectl() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	for _, dep := range info.Deps {
		if minor, ok := strings.CutPrefix(dep.Version, "v0."); ok && dep.Path == "k8s.io/kubectl" {
			kubectlVersion = "v1." + minor
			_ = kubeversion.SetDynamicVersion(kubectlVersion) // cannot fail: it is the default now
		}
	}
}

// kubectlCommand only shows up in the help: main hands the command line to kubectl before cobra reads it.
func kubectlCommand() *cobra.Command {
	return &cobra.Command{Use: "kubectl", GroupID: "tool", Short: "The real kubectl, linked in", DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) { os.Exit(kubectl(args)) }}
}
