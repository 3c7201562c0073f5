// Package etcd lets clients of etcd's v3 API use a member of the store: etcdctl, clientv3 and what is built on them. It
// is a second face of the same state machine, on the same port and behind the same checks as package server.
//
// Its one idea is that the two stores share a model (one revision counter, versions of keys, a history that watches
// read), so each call becomes one call of kv.KV and the difference is in words: names of fields, gRPC statuses, and what
// a client library concludes from a header. Where the two differ in meaning, the answer here is what etcd would say.
//
//	KV           Range and RangeStream > kv.Range; sorting and the filters by revision happen here, on the whole range.
//	             Put, DeleteRange, Txn > kv.Txn. A transaction within a transaction has no counterpart: nested.go reads
//	             which branches apply and submits those under conditions that hold only if they still do.
//	             Compact > kv.Compact; physical changes nothing, since memory is free as soon as it is done.
//	Watch        many watches a stream, each over a kv.Watcher of its own; see watch.go and progress.go.
//	Lease        > the leases of kv.KV. A time to live below a second becomes one second.
//	Maintenance  Status, Alarm, Defragment, HashKV, MoveLeader > the member. Snapshot is the store's own snapshot in
//	             etcd's envelope: padding to 512 bytes and a SHA-256. `orrery snapshot` reads such a file, etcd does not.
//	Cluster      names are the store's identities, numbers etcd's: a member's id is a hash of its name. A member is
//	             started before it is added, because the cluster asks it for its name; it joins as a learner.
//
// Not there, and answered with Unimplemented: Auth (certificates decide who may call), Downgrade, MemberUpdate (a member
// announces its addresses itself), raising an alarm. DbSize and DbSizeInUse both show the bytes that count against the
// quota: the data is in memory and has no file with holes.
//
// server.go registers everything and makes headers, errors.go translates errors, then one file a service.
package etcd
