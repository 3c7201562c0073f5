// Package controller runs reconcile loops.
//
// One idea: a controller is a function from a key to the next step. Changes of any watched object are turned into keys; a key waits in the
// queue at most once, however many changes there were; a worker takes it and calls Reconcile, which reads the caches, compares, and
// writes. What failed comes back with growing delays, what has to wait comes back when it said so. Whatever is lost with
// the process is found again from the objects, so a controller may die at any instruction.
//
// Every change brings the trace context of the write behind it. The first one becomes the parent of the reconcile's span, those that
// joined it while it waited become links: a user's write and all that follows from it, over all controllers, is one trace.
//
// controller.go has the runner, causes.go the trace contexts that wait with a key, handle.go turns an informer's changes into keys,
// written.go guards against acting on a cache that does not show one's own last write yet, metrics.go what is measured.
// Folder election has leader election.
package controller
