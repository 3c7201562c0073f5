// Package client is kv.KV over gRPC: a caller cannot tell it from a store in its own process.
//
// One connection object spreads calls over all members that say they serve. What certainly was not done is tried again
// on another member until the context ends; a write whose outcome is not known is never repeated and comes back as
// kv.ErrOutcomeUnknown. A watch survives the loss of its member: it goes on elsewhere, from the revision after the last
// one that it delivered whole.
//
// client.go has the connection, kv.go the calls, watch.go the watch.
package client
