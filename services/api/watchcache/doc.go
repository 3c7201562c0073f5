// Package watchcache keeps every object in memory and tells watchers of every change, from one watch on the store.
//
// One idea: the event window is the buffer. A Hub holds a single store watch over all objects and hands each event to the Cache of
// its type, which puts it into its tree of objects and into its window, a ring of the latest events. A watcher is a
// position in that ring: it reads on from there at its own pace, and the only thing that can happen to a slow one is that
// the ring passes it, which it is told by 410 Expired. Nothing is queued without bound and nobody waits for a watcher.
//
// Watchers that name one object, one index value (a node agent's pods) or one namespace are looked up by what an event is about, so that
// an event costs what it concerns, not how many watch. Such a watcher is handed its events while it keeps up (a short
// pending list), and is parked at its position in the ring when it does not. Every watcher starts parked: catching up from an old
// revision and recovering from slowness are the same code.
//
//	         store watch (Hub.stream)
//	              |            one response: whole revisions, in order
//	     demux by key prefix
//	      |            |
//	   Cache pods   Cache nodes ...      each: tree (snapshots by copy-on-write), window, watchers
//	      |
//	   tree, window < apply, under the cache's lock
//	   watchers     < dispatch, without it
//	Hub.revision    < published last: a reader that waits for a revision sees all of it
//
// Reads are consistent without reading the store's objects: ask the store for its revision, wait until the Hub has
// reached it, read the tree. Lists are taken from a frozen copy of the tree; an older revision is made from the present
// one by undoing the window's events.
//
// Lock order: Cache.mu before Watcher.mu; index.mu is taken alone or before Watcher.mu.
//
// hub.go first, then cache.go, window.go, watcher.go; list.go and fresh.go are the readers' side.
package watchcache
