// Package server is the store's gRPC face: StoreService over any kv.KV, MembershipService and MaintenanceService over a
// Raft member. Handlers convert and nothing else; what runs across them is in interceptors (auth.go).
//
// pipeline.go is what busy clients use: many calls on one stream. kv.go has reads, transactions and leases, watch.go the
// watch stream, pace.go how a flood of events becomes few messages, membership.go and maintenance.go the operator's side.
package server
