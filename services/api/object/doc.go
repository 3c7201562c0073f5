// Package object holds what travels through the api: one object, decoded once and encoded once per format.
//
// One idea: bytes are immutable and shared. An object is encoded to protobuf when it is written; those bytes go to the
// store, come back on the store's watch, and are what every get, list and watch in protobuf sends. The resourceVersion, known only after the
// commit, is appended as one more metadata field: protobuf merges repeated occurrences of an embedded message, so nothing is encoded
// again. JSON is made from the decoded object when the first reader asks for it and kept beside it.
//
// entry.go has Entry, one version of one object; event.go has Event, one change and its frames for each watch format.
package object
