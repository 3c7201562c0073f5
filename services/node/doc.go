// Package node is the node agent: it registers a node, runs the pods that are assigned to it in a container runtime, and tells how they are.
//
// One idea: the agent only ever calls out, to the api and to the runtime, and everything it does is started by an event: a pod changed, a container
// ended, a probe decided, a timer fired. What runs goes on running when the api, or the agent itself, is away; after a restart the agent
// finds its containers by their labels and restarts none.
//
// config.go says what can be set, service.go starts a node: its runtime (containerd: a private containerd; simulated: one in memory; cri: the
// interface of both) and its agent (agent: the wiring). One pod's life is in podworker, which uses podconfig (what the runtime is told),
// podstate (what it has), images, volumes, cgroups, prober, events and status. nodestatus keeps the Node object, session serves logs and
// exec, logs reads them.
package node
