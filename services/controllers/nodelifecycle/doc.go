// Package nodelifecycle finds nodes that have gone silent, and moves work away from nodes that cannot do it.
//
// One idea: a node is heard when its Lease, or its status, changes, by our own clock: clocks of nodes are not trusted. One that is not heard for
// the grace period gets the condition Ready=Unknown and its pods are marked as not ready; conditions turn into taints; a taint
// NoExecute deletes the pods that do not tolerate it, after as long as they do. Before a node is called silent its Lease is read from the
// api, so that a controller that was itself away (stopped, cut off) does not blame the nodes.
//
// nodelifecycle.go has the loop, health.go the heartbeats, taints.go the taints, zones.go how fast nodes may be given up when many are ill
// at once, evict.go the pods.
package nodelifecycle
