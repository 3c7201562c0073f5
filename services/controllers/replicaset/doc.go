// Package replicaset keeps the number of pods that each ReplicaSet asks for.
//
// One idea: count the active pods that belong to the ReplicaSet, and create or delete the difference. The count must not be of the past:
// after creating or deleting, nothing more is done until the cache shows it.
//
// replicaset.go has the loop, expect.go what the cache has yet to show, rank.go which pods are deleted first, status.go the status.
package replicaset
