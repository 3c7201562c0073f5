// Package raftnode makes the state machine of package mvcc durable and replicated: one member of a Raft cluster of one,
// three or five, behind kv.KV. No type of the Raft library leaves it.
//
// Its one idea is that a busy store should do fewer, larger commits. A commit costs one flush to disk whatever its size,
// so commands that arrive while one is in flight wait and ride together in the next log entry (propose.go): throughput
// grows with load, and a lonely writer waits for nobody.
//
// The life of a write: Txn (kv.go) > to the leader if that is another member (peer.go) > the queue (propose.go) > log and
// disk of a majority (the Raft library) > the state machine (fsm.go) > watchers (package watch) > the answer.
//
// The life of a linearizable read (read.go): ask the leader which log index it must have seen, wait until that is applied
// here, read the view. The leader answers after it made sure that it still leads; all reads that wait share one round.
// Calls that arrive together need no goroutine each (batch.go); observe.go says where the time of a write went.
//
// Members talk on one port (transport.go): Raft's own protocol, and the gRPC of peers for what Raft has no message for.
// node.go puts the parts together; leader.go is what runs on the leader alone: lease time and compaction.
//
// What is on disk (storage.go) is read through before it is used, and everything in it has a checksum: a member that has
// lost something must not vote or acknowledge. disk.go stands between Raft and one of two kinds of log, boltlog.go and
// wallog.go, each with the check of its files beside it; snapshots.go holds the snapshots, identity.go whose folder it is.
// seed.go and recover.go make folders that a cluster begins anew with.
//
// Each member looks after itself (health.go): one whose disk or state machine is stuck stops serving and lets another one
// lead; a failed write ends it. The leader compares the members' content (check.go), and knows how far each of them is
// (progress.go). elect.go spares the cluster the wait for a time-out where there is nothing to wait for.
package raftnode
