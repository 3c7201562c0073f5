// Package traffic puts a store to work as a cluster of Kubernetes does, and records all of it (package history).
//
// Its one idea is that each client does one thing a component does: writers (writer.go) create, update and delete objects
// with optimistic concurrency as API servers do; readers (reader.go) get, list in pages at one revision, and read what a
// member has without asking the leader; heartbeats (lease.go) hold leases; watches (watch.go) follow, some of them
// interrupted again and again; an informer (informer.go) lists and watches for the whole run and must end up with the
// state that a list shows.
//
// kv.go is the recorded client that they share, round.go starts and ends a round of them.
package traffic
