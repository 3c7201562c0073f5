package main

import (
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/node"
)

// part is one service of a cluster with the flags that it is started with, in this process or in its own.
type part struct {
	// name is the service's, or for one of several nodes "node-2": that of its log and pid file.
	name    string
	service string
	args    []string
}

// plan lists the parts of a cluster in the order in which they start.
func (o *upOptions) plan(p ports, runtime string) []part {
	pkiDir := filepath.Join(o.dataDir, "pki")
	withPKI := func(args ...string) []string { return append(args, "--pki-dir", pkiDir) }
	client := func(args ...string) []string { return append(withPKI(args...), "--api", p.API) }
	parts := []part{
		{"store", "store", withPKI("--data-dir", filepath.Join(o.dataDir, "store"), "--listen", p.Store, "--raft-listen", p.Raft)},
		{"api", "api", withPKI("--listen", p.API, "--store", p.Store)},
		{"gateway", "gateway", client("--listen", p.Gateway)},
		// One process of each for a data folder: a name that outlives the process lets it take its own lease up again at once.
		{"controllers", "controllers", client("--identity", "controllers-"+o.identity())},
		{"scheduler", "scheduler", client("--identity", "scheduler-"+o.identity())},
	}
	if runtime == node.RuntimeSimulated {
		return append(parts, part{"node", "node", client("--name", "node", "--simulate", strconv.Itoa(o.nodes))})
	}
	for i, name := range o.nodeNames(runtime) {
		args := client("--name", name, "--data-dir", filepath.Join(o.dataDir, "nodes", name), "--runtime", runtime,
			// What this cluster started ends with it.
			"--keep-pods=false")
		for _, m := range o.registryMirrors {
			args = append(args, "--registry-mirror", m)
		}
		partName := "node"
		if i > 0 {
			partName = "node-" + strconv.Itoa(i+1)
		}
		parts = append(parts, part{partName, "node", args})
	}
	return parts
}

// nodeNames are node-1, node-2 and so on; simulated ones, which one process runs together, count from 0.
func (o *upOptions) nodeNames(runtime string) []string {
	first := 1
	if runtime == node.RuntimeSimulated {
		first = 0
	}
	names := make([]string, o.nodes)
	for i := range names {
		names[i] = "node-" + strconv.Itoa(first+i)
	}
	return names
}

// identity tells the clusters of one machine apart.
func (o *upOptions) identity() string {
	return strings.Trim(strings.ReplaceAll(o.dataDir, "/", "-"), "-")
}

// pkiOptions are what the cluster's certificates have to cover.
func (o *upOptions) pkiOptions(runtime string) pki.Options {
	var options pki.Options
	if runtime != node.RuntimeSimulated {
		options.Nodes = o.nodeNames(runtime)
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil || host == "" {
		return options
	}
	if ip := net.ParseIP(host); ip == nil {
		options.Hosts = []string{host}
	} else if !ip.IsUnspecified() {
		options.IPs = []net.IP{ip}
	}
	return options
}
