// Package scheduler finds a node for every pod that has none.
//
// One idea: one loop decides, many bind. The loop takes a pod from the queue, looks at an immutable snapshot of the nodes, decides, and counts the
// pod on its node at once (it is assumed); writing the binding goes on beside the next decision. The api's optimistic concurrency has the last
// word: a binding that fails puts the pod back.
//
// scheduler.go has the loop, decide.go the decision, bind.go what follows it, watch.go feeds cache and queue from the informers; framework/, plugins/,
// queue/ and snapshot/ are each one part of it. service.go runs it all.
package scheduler
