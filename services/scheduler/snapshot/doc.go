// Package snapshot is what a scheduling decision looks at: the nodes with the pods that are, or are assumed to be, on them.
//
// One idea: a NodeInfo is immutable. A change makes a new one and puts it into the cache; a Snapshot is the list of those
// that were current when it was taken, so a decision is a pure function of it and needs no lock.
//
// nodeinfo.go has NodeInfo and its sums, cache.go the Cache with its assumed pods.
package snapshot
