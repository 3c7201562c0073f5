// Package history is what a run remembers: every call that a client made and every message that a watch received, with
// the time of the one clock that all of them share.
//
// Its one idea is that a write can be found again by what it wrote: values are unique (value.go), so the log of the
// store's changes, put together from the watches ([Timeline], timeline.go), says of each call whether it took effect and
// at which revision, also when its client never learned.
//
// op.go has the calls, watch.go the watches, recorder.go collects both.
package history
