package main

import (
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/node"
)

type nodeOptions struct {
	clientOptions
	name, dataDir, runtime, runtimeEndpoint, podCIDR, nodeIP, sandboxImage, clusterDomain string
	registryMirrors, clusterDNS                                                           []string
	labels                                                                                map[string]string
	maxPods, simulate                                                                     int
	keepPods                                                                              bool
}

func (o *nodeOptions) bind(flags *pflag.FlagSet) {
	o.clientOptions.bind(flags)
	flags.StringVar(&o.name, "name", "", "name of the Node object; the host name when empty")
	flags.StringVar(&o.dataDir, "data-dir", "/var/lib/orrery/node", "folder of this node: its containerd, volumes and logs")
	flags.StringVar(&o.runtime, "runtime", node.RuntimeAuto, "auto, containerd or simulated")
	flags.StringVar(&o.runtimeEndpoint, "runtime-endpoint", "", "socket of a CRI runtime that runs already, to use instead of a private containerd")
	flags.StringVar(&o.podCIDR, "pod-cidr", "", "network of this node's pods, such as 10.244.1.0/24; a free one is chosen when empty")
	flags.StringVar(&o.nodeIP, "node-ip", "", "address of this node; found out when empty")
	flags.StringVar(&o.sandboxImage, "sandbox-image", "", "image of the pods' sandboxes; the built-in one when empty")
	flags.StringSliceVar(&o.registryMirrors, "registry-mirror", nil, "registry to pull from first, as docker.io=http://127.0.0.1:5000; may be repeated")
	flags.StringSliceVar(&o.clusterDNS, "cluster-dns", nil, "name server for pods; the machine's when empty")
	flags.StringVar(&o.clusterDomain, "cluster-domain", "cluster.local", "domain of the cluster's names")
	flags.StringToStringVar(&o.labels, "label", nil, "label of the node as KEY=VALUE; may be repeated")
	flags.IntVar(&o.maxPods, "max-pods", 110, "number of pods that the node takes")
	flags.IntVar(&o.simulate, "simulate", 0, "run this many hollow nodes, NAME-0 and so on, with simulated containers")
	flags.BoolVar(&o.keepPods, "keep-pods", true, "leave pods running when the agent is told to stop; its next start takes them over")
}

func (o *nodeOptions) build(logger *slog.Logger) (runner, error) {
	if o.name == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("--name is not given, and the machine does not tell its own: %w", err)
		}
		o.name = strings.ToLower(host)
	}
	identity := pki.NodeCert(o.name)
	if o.simulate > 0 {
		// One process speaks for many nodes, which no node's own identity may.
		identity = pki.Admin
	}
	api, err := o.config(identity, "node")
	if err != nil {
		return nil, err
	}
	return node.New(node.Config{
		Name: o.name, DataDir: o.dataDir, API: api, Runtime: o.runtime, RuntimeEndpoint: o.runtimeEndpoint, PodCIDR: o.podCIDR, NodeIP: o.nodeIP,
		RegistryMirrors: o.registryMirrors, SandboxImage: o.sandboxImage, Labels: o.labels, ClusterDNS: o.clusterDNS, ClusterDomain: o.clusterDomain,
		MaxPods: o.maxPods, KeepPods: o.keepPods, Simulate: o.simulate, Logger: logger,
	})
}
