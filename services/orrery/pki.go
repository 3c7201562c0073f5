package main

import (
	"fmt"
	"net"

	"github.com/spf13/cobra"

	"github.com/orrery-io/orrery/services/internal/pki"
)

func pkiCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "pki", GroupID: "tool", Short: "Make and look at the cluster's certificates"}
	cmd.AddCommand(pkiInitCommand(), pkiKubeconfigCommand())
	return cmd
}

func pkiInitCommand() *cobra.Command {
	var dir, kubeconfig, server string
	var hosts, nodes []string
	cmd := &cobra.Command{Use: "init", Short: "Make the authority and a certificate for each component; renew what expires", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options := pki.Options{Nodes: nodes}
			for _, h := range hosts {
				if ip := net.ParseIP(h); ip != nil {
					options.IPs = append(options.IPs, ip)
				} else {
					options.Hosts = append(options.Hosts, h)
				}
			}
			layout, err := pki.Ensure(dir, options)
			if err != nil {
				return err
			}
			for _, issued := range layout.Issued {
				fmt.Fprintln(cmd.OutOrStdout(), "issued", issued)
			}
			if kubeconfig == "" {
				return nil
			}
			return layout.WriteKubeconfig(kubeconfig, pki.Admin, server)
		}}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "/var/lib/orrery/pki", "folder of the certificates")
	flags.StringSliceVar(&hosts, "host", nil, "name or address by which services are reached, besides localhost; may be repeated")
	flags.StringSliceVar(&nodes, "node", nil, "node that gets a certificate; may be repeated")
	flags.StringVar(&kubeconfig, "kubeconfig", "", "also write the administrator's kubeconfig to this file")
	flags.StringVar(&server, "server", "https://127.0.0.1:6443", "URL of the gateway, for the kubeconfig")
	return cmd
}

func pkiKubeconfigCommand() *cobra.Command {
	var dir, file, server, name string
	cmd := &cobra.Command{Use: "kubeconfig", Short: "Write a kubeconfig for one of the certificates", Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error { return pki.Open(dir).WriteKubeconfig(file, name, server) }}
	flags := cmd.Flags()
	flags.StringVar(&dir, "dir", "/var/lib/orrery/pki", "folder of the certificates")
	flags.StringVar(&file, "out", "kubeconfig", "file to write")
	flags.StringVar(&server, "server", "https://127.0.0.1:6443", "URL of the gateway")
	flags.StringVar(&name, "name", pki.Admin, "certificate to use, by its file name")
	return cmd
}
