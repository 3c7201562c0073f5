// Package kv is the contract of the store: a flat, ordered, multi-version key space that many writers share.
//
// One idea carries it: a single revision counter for the whole space. Every transaction that writes takes the next
// revision, every key it writes carries that revision, a read may name a revision, a watch starts from one. The
// revision is what the API shows as resourceVersion.
//
// [KV] is implemented by the in-memory state machine, by a Raft member (leader or follower) and by the gRPC client;
// one conformance suite (package kvtest) runs against all of them, so a caller cannot tell which it holds.
//
// kv.go has the interface and its promises, errors.go the errors that callers act on.
package kv
