package registry

import nodev1 "k8s.io/api/node/v1"

func nodeAPIKinds(o Options) []*Kind {
	return []*Kind{
		entry[*nodev1.RuntimeClassList]("node.k8s.io", "v1", "runtimeclasses", rules[*nodev1.RuntimeClass]{}),
	}
}
