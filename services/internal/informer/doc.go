// Package informer keeps a local copy of a resource up to date and tells its owner what changed.
//
// One idea: one stream does it all. A watch that begins with the present objects (sendInitialEvents) fills the store, a bookmark says when it is
// complete, and the same stream carries every later change. When the stream breaks it is resumed from the last revision seen; when the api has
// forgotten that revision (410) it begins anew and the difference to the old copy is reported, so a handler never misses that an object
// vanished. Each change comes with the trace context of the write behind it.
//
// informer.go has Informer and its loop, store.go the indexed copy. Queues and workers are in package controller.
package informer
