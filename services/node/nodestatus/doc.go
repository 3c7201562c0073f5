// Package nodestatus keeps the Node object: registers it, says how the node is, and renews its Lease.
//
// One idea: the Lease is the heartbeat, a small write every 10 s; the Node itself is written only when something changed, or after 5 minutes.
//
// manager.go is the loop, describe.go the Node's content, machine.go what the machine has.
package nodestatus
