// Package client is kv.KV over gRPC: a caller cannot tell it from a store in its own process.
//
// Its one idea is that callers of one process ride together. Their transactions and small reads go over one stream to each
// member (a lane): what waits while a message is being sent goes into the next one, and a lonely call goes at once. Writes take
// the lane of the leader. Large reads have streams of their own, spread over all members that serve; watches too, and those
// that ask for the same from now on share one.
//
// What certainly was not sent moves to another member by itself, and is tried until the context ends; a write whose outcome is
// not known is never repeated and comes back as kv.ErrOutcomeUnknown. A watch survives the loss of its member: it goes on
// elsewhere, from the revision after the last one that it delivered whole.
//
// client.go has the connection and what becomes of errors, kv.go the calls, pipeline.go and lane.go how they travel, watch.go
// the watch, share.go shared ones, balancer.go which member a stream goes to.
package client
