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
// hub.go has the hub, watcher.go the watcher, index.go finds the watchers of a key.
package watch
