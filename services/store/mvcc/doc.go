// Package mvcc is the state machine of the store: every member applies the same commands in the same order and holds
// the same state, so nothing in here may depend on anything else. It reads no clock, does no I/O, starts no goroutine
// and draws no random number.
//
// One idea carries it: everything that a reader can reach is immutable. The newest state is a copy-on-write B-tree from
// key to history; [State.View] hands out the present one in constant time, and readers keep it as long as they like
// while the single writer goes on. Two structures make a view:
//
//   - the tree: key > history, the versions of the key that are not compacted, oldest first;
//   - the revision log: revision > changes, one entry for each revision since the compaction point. It is what watches
//     read, so the history itself is the queue of every watcher, and no watcher needs one of its own.
//
// A worked example. Three transactions, then a compaction:
//
//	rev 2: put a=1           tree: a:[2]
//	rev 3: put a=2, put b=1  tree: a:[2 3] b:[3]
//	rev 4: delete b          tree: a:[2 3] b:[3 4†]        log: 2:{a} 3:{a b} 4:{b†}
//	compact 3                tree: a:[3]   b:[3 4†]        log: 3:{a b} 4:{b†}
//	compact 4                tree: a:[3]   b:[4†]          log: 4:{b†}
//	compact 5 (after a write) tree: a:[3]  ...             log: 5:{...}
//
// Compaction at R keeps of each key the newest version at or before R and everything after R, so every read and every
// watch from R on sees what it would have seen. A deletion is dropped once the compaction point is past it. Only keys
// that the log names between the old and the new point are visited: the cost follows the changes, not the keys.
//
// Open state.go next, then txn.go; snapshot.go and restore.go write and read the whole state as a stream.
package mvcc
