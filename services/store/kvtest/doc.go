// Package kvtest is the conformance suite of kv.KV: one body of tests for the store in memory, a Raft leader, a Raft
// follower, and both over gRPC. What it asserts is what package kv promises; a behaviour that only one implementation has
// is tested beside that one.
//
// suite.go has [Run] and helpers; each other file holds one subject.
package kvtest
