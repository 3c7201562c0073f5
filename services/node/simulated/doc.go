// Package simulated is a container runtime that keeps its containers in memory: for machines without containerd, and for scale and fault tests.
//
// One idea: it is the same cri.Runtime as the real one, so the agent above it is the real agent. A container runs from start until it is stopped or
// until Exit ends it. There are no processes: exec, attach and port-forward answer Unimplemented with a reason, logs are empty, probes
// succeed while the container runs. Pulling an image whose name holds "doesnotexist" fails as a registry would.
//
// runtime.go keeps sandboxes and containers, images.go the images, events.go tells watchers.
package simulated
