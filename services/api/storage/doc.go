// Package storage puts objects into the store and takes them out again.
//
// One idea: an object is one key, and every write names the revision of the version it replaces. There are no locks: who loses
// the race reads again and decides anew (Update), or is told (Create, a delete with preconditions).
//
// key.go has the layout of the keys, codec.go the bytes of a value, store.go reading and creating, update.go the compare-and-swap
// loop that updates and deletes go through, ttl.go the leases of objects that expire. Old
// revisions are the store's own to forget.
package storage
