// Package cri is how the node agent speaks to a container runtime: the calls of k8s.io/cri-api that it needs, as one Go interface.
//
// One idea: the agent knows Runtime alone. Client speaks it to containerd or CRI-O over a unix socket; package simulated keeps
// containers in memory behind the same interface, so one agent serves both.
//
// runtime.go is the interface, client.go the gRPC client, trace.go its spans, errors.go tells errors apart, labels.go names what the agent
// writes on sandboxes and containers to find them again.
package cri
