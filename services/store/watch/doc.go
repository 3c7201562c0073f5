// Package watch tells watchers what was committed.
//
// Its one idea: the history is the queue. A watcher is a position in the revision log that package mvcc keeps until
// compaction; it has no queue of events of its own, so a slow one costs nothing and holds nobody up. It is told
// "expired" only when compaction has passed its position.
//
// Reading the whole log for each of thousands of watchers would cost too much, so a watcher that has caught up is
// synced: [Hub.Commit] looks up, for each change, the watchers whose range holds the key and notes the revision with
// them (numbers only, at most maxPending). When that list is full the watcher stops being synced: it forgets the list
// and reads the log from its position until it has caught up again.
//
// Commit makes the new view readable and then tells the watchers, all under one lock and in revision order: whoever is
// told of a revision can read it.
//
// Who sends events to others may pause between learning that there are some and taking them: it then has them all in one response
// (NextEncoded).
//
// What a watch costs (BenchmarkWatchMemory): about 400 bytes while it has nothing to read, at most 4.5 KB when it does not read
// what concerns it, and 400 bytes again once it is parked. The events themselves are the store's history, whose size is
// bounded, and the encoded form of the newest ones, at most 32 MB for all watches together (encoded.go). A stream over gRPC adds
// about 40 KB on both sides together.
//
// hub.go has the hub, watcher.go the watcher, index.go finds the watchers of a key, encoded.go lets watchers share the bytes that
// are sent.
package watch
