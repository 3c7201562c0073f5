// Package wire is how Go services put the typed API on gRPC without generated messages.
//
// One idea: an embedded message and a bytes field have the same encoding, and every kind's request messages share one layout
// (proto/orrery/<group>/<version>). So one set of envelopes, with the object as raw bytes, reads and writes the requests
// of every kind; objects are encoded once, by the k8s.io/api types' own Marshal, and passed on untouched.
//
// envelope.go has the request messages, rest.go those of the REST front, event.go the watch event that all watchers share, codec.go the gRPC codec
// that understands envelopes, k8s.io/api types and generated messages alike.
package wire
