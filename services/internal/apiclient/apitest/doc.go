// Package apitest is an api in memory for the tests of its clients.
//
// One idea: a client speaks through a grpc.ClientConnInterface, so a test can stand in the place of the network, see every call, and make any of
// them fail, before or after it took effect. It knows what clients rely on (revisions, conflicts, finalizers, generations, watches in order)
// and nothing else: no validation, defaults, admission or authorization; those are tested where they live.
//
// server.go has Server and the dispatch, verbs.go the verbs, watch.go the streams, metadata.go the ResourceService.
package apitest
