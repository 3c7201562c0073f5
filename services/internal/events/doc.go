// Package events records what happened to an object as core/v1 Events, for `kubectl describe` and `kubectl get events`.
//
// One idea: an Event is a hint to a human and must never cost the cluster anything that matters. Recording puts it into a bounded queue and
// returns; one goroutine writes them, counts repeats instead of storing them, folds floods of similar ones together, limits each
// object's rate, and drops what it cannot deliver.
//
// recorder.go has the Recorder, correlate.go decides what becomes of an event: a new object, a count on an earlier one, or nothing.
package events
