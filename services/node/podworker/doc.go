// Package podworker brings each pod of the node to what its specification asks for and keeps it there.
//
// One idea: one goroutine per pod, woken by whatever may matter to it (the pod changed, the runtime did, a probe, a pull that ended, a timer), which then
// always does the same: ask the runtime what is there, plan what is missing (a pure function), do it, tell the status. Nothing is kept in memory
// that a restart of the agent would miss.
//
// manager.go has the workers, worker.go the loop of one, plan.go decides, start.go makes sandboxes and containers, stop.go ends them and
// clears away, publish.go tells the status.
package podworker
