package controllers

import (
	"context"
	"time"

	"github.com/orrery-io/orrery/services/controllers/deployment"
	"github.com/orrery-io/orrery/services/controllers/endpointslice"
	"github.com/orrery-io/orrery/services/controllers/garbagecollector"
	"github.com/orrery-io/orrery/services/controllers/namespace"
	"github.com/orrery-io/orrery/services/controllers/nodelifecycle"
	"github.com/orrery-io/orrery/services/controllers/podgc"
	"github.com/orrery-io/orrery/services/controllers/replicaset"
	"github.com/orrery-io/orrery/services/controllers/rootca"
	"github.com/orrery-io/orrery/services/controllers/serviceaccount"
	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/events"
)

// runner is a controller, ready to run.
type runner interface {
	Run(ctx context.Context) error
}

// given is what controllers are built from.
type given struct {
	client *apiclient.Client
	caches *caches
	events *events.Recorder
	config Config
}

// table lists the controllers by the names that configuration uses, Kubernetes' own. A builder returns nil when the configuration
// leaves it nothing to do.
var table = []struct {
	name  string
	build func(g given) runner
}{
	{"deployment-controller", func(g given) runner {
		return deployment.New(deployment.Config{
			Client: g.client, Deployments: g.caches.deployments(), ReplicaSets: g.caches.replicaSets(), Pods: g.caches.pods(),
			Events: g.events.For(deployment.Component), Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"replicaset-controller", func(g given) runner {
		return replicaset.New(replicaset.Config{
			Client: g.client, ReplicaSets: g.caches.replicaSets(), Pods: g.caches.pods(),
			Events: g.events.For(replicaset.Component), Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"serviceaccount-controller", func(g given) runner {
		return serviceaccount.New(serviceaccount.Config{
			Client: g.client, Namespaces: g.caches.namespaces(), ServiceAccounts: g.caches.serviceAccounts(),
			Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"root-ca-certificate-publisher-controller", func(g given) runner {
		if len(g.config.RootCA) == 0 {
			return nil
		}
		return rootca.New(rootca.Config{
			Client: g.client, Namespaces: g.caches.namespaces(), ConfigMaps: g.caches.rootCAs(), RootCA: g.config.RootCA,
			Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"endpointslice-controller", func(g given) runner {
		return endpointslice.New(endpointslice.Config{
			Client: g.client, Services: g.caches.services(), Pods: g.caches.pods(), Nodes: g.caches.nodes(),
			Slices: g.caches.endpointSlices(), Endpoints: g.caches.endpoints(),
			Events: g.events.For(endpointslice.Component), Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"garbage-collector-controller", func(g given) runner {
		return garbagecollector.New(garbagecollector.Config{Client: g.client, Clock: g.config.Clock, Logger: g.config.Logger})
	}},
	{"namespace-controller", func(g given) runner {
		return namespace.New(namespace.Config{Client: g.client, Namespaces: g.caches.namespaces(), Clock: g.config.Clock, Logger: g.config.Logger})
	}},
	{"node-lifecycle-controller", func(g given) runner {
		return nodelifecycle.New(nodelifecycle.Config{
			Client: g.client, Nodes: g.caches.nodes(), Leases: g.caches.nodeLeases(), Pods: g.caches.pods(),
			Events:      g.events.For(nodelifecycle.Component),
			GracePeriod: g.config.NodeMonitorGracePeriod, StartupGracePeriod: max(g.config.NodeMonitorGracePeriod, time.Minute),
			Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
	{"pod-garbage-collector-controller", func(g given) runner {
		return podgc.New(podgc.Config{
			Client: g.client, Pods: g.caches.pods(), Nodes: g.caches.nodes(), NodeIndex: nodelifecycle.ByNode,
			Clock: g.config.Clock, Logger: g.config.Logger,
		})
	}},
}

// Names lists the controllers that Config.Enabled may name.
func Names() []string {
	names := make([]string, len(table))
	for i, c := range table {
		names[i] = c.name
	}
	return names
}
