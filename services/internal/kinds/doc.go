// Package kinds is the table of every built-in REST resource: its group, version, kind, plural, scope,
// short names, subresources, and the protobuf service that serves it.
//
// The one idea: what a kind is called is written down once. The protobuf generator owns the table
// (services/internal/protogen/table.go), writes the .proto services from it and exports it here, so that
// discovery, the gRPC service registration and clients can never disagree about a name.
//
// Open kind.go for the shape of an entry and of its methods, lookup.go for the ways to find one, and
// zz_kinds.go for the entries themselves.
package kinds
