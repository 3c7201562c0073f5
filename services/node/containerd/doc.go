// Package containerd runs a private containerd for one node: its root, state, socket, pod network and generated configuration are all inside the
// node's folder, so that several nodes share a machine and nothing is left when one is taken down.
//
// One idea: containerd outlives the agent. It is started in a session of its own with its process id in a file; an agent that comes back adopts
// it with its containers as they are. Only Remove ends them: pods first, through CRI, then whatever is left, found by the folder's path.
//
// daemon.go starts, adopts and supervises; config.go writes the configuration; detect.go asks what the machine allows; process.go knows processes by
// pid and start time; remove.go takes everything down.
package containerd
