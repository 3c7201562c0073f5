// Package garbagecollector deletes what has lost its owners.
//
// One idea: owner references make a graph over all objects of all kinds, custom ones included, and an object whose owners are all gone goes too.
// The graph is kept from a metadata watch of every resource and may lag, so it only says where to look: before anything is deleted the
// absence of its owners is checked with the api itself, by uid, because a successor of the same name is not the owner.
//
//	Deployment web (uid 1) <- ReplicaSet web-5d (uid 2) <- Pod web-5d-x (uid 3)
//	background: 1 is deleted; its event leads to 2, whose owner is gone: deleted; and so on to 3.
//	foreground: 1 stays, marked, until nothing that blocks it is left; 2 is deleted the same way, then 3.
//	orphan:     1 stays until 2 no longer names it, and then goes alone.
//
// garbagecollector.go has New and Run, monitor.go the watches, graph.go the graph, collect.go what is done to one object, patch.go its writes.
package garbagecollector
