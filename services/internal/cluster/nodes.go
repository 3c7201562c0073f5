package cluster

import (
	"fmt"
	"path/filepath"

	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/node"
)

// newNode is an agent over simulated containers. It forgets them when it ends, as a machine does that is switched off.
func (c *Cluster) newNode(i int, name string) (runner, error) {
	config, err := c.clientConfig(pki.NodeCert(name))
	if err != nil {
		return nil, err
	}
	config.Service = Node
	return node.New(node.Config{
		Name: name, DataDir: filepath.Join(c.Dir, "nodes", name), API: config, Runtime: node.RuntimeSimulated,
		PodCIDR: fmt.Sprintf("10.244.%d.0/24", i), NodeIP: "127.0.0.1", KeepPods: true, Logger: c.logs.logger.With("service", Node, "node", name),
	})
}
