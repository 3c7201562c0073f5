// Package protogen writes the API definition below proto/orrery from the Go types of k8s.io/api.
//
// The one idea: the `protobuf:"..."` struct tags of those types carry field numbers and wire types, so an idiomatic
// proto3 definition with the very same wire format follows from them by reflection, and with it clients in
// every language. Bytes written by one side read as the same object on the other; a fuzzed round trip over every
// kind proves it.
//
// Open table.go first: the list of packages and kinds that all else follows from. Then types.go (Go types to
// messages), layout.go (which message goes into which file), render.go (messages and services as text) and kindsfile.go
// (the table as Go for the other services). The command is in cmd/protogen; generate.sh runs it, then buf.
package protogen
