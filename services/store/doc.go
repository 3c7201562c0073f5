// Package store is the service that keeps the cluster's state: a replicated, durable key space with history and watches.
// Only the api service talks to it.
//
// From the inside out:
//
//   - kv: the contract, an interface with its promises; kvtest: the conformance suite that every implementation passes.
//   - mvcc: the state machine, pure and deterministic. watch: who is told of what. lease: how long leases live.
//   - memory: these three behind kv.KV, without Raft and without a disk.
//   - raftnode: the same three behind a Raft log on disk; one member of a cluster of one, three or five.
//   - wire: between kv's types and the protocol. server: gRPC over a member. client: kv.KV over gRPC.
//   - etcd: the same member in the words of etcd's v3 API, for etcdctl and whatever else speaks it.
//
// This package joins a member and its server into a service with a beginning and an end: config.go, service.go,
// metrics.go. Read kv first, then mvcc's doc.go.
package store
