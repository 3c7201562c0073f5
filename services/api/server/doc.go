// Package server puts the api on gRPC: one typed service per kind, ResourceService for any kind named by strings, RestService for
// HTTP clients behind the gateway, and the services of node agents.
//
// One idea: the three fronts differ in how they say what they want and in the bytes they get back. Between the two there is one path:
// a target (resource.go) and an operation on it (operations.go, watches.go). A kind that the registry has is served by
// all three.
//
// server.go builds it all; rpc.go knows what each method asks for; the interceptors are one a file: metrics.go, errors.go,
// recover.go, authenticate.go, authorize.go. typed.go and typed_handlers.go are the typed services, resource_service.go and rest.go
// (with rest_*.go) the others.
package server
