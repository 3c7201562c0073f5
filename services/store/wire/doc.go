// Package wire turns the types of package kv into those of the store's protocol and back. The protocol is also what is in
// the Raft log, so every implementation but the one in memory goes through here.
//
// Bytes are shared, never copied: what comes out of a message or out of the store must not be changed.
//
// requests.go and responses.go convert by way of generated messages; encode.go and decode.go read and write the same bytes without
// them, for the paths where messages would be most of the work; pipeline.go has the calls and answers of a pipeline, frame.go lets
// such bytes travel over gRPC, errors.go is the one table between kv's errors and gRPC statuses.
package wire
