// Package schema describes the api to its clients: discovery, OpenAPI and the version.
//
// One idea: all of it follows from the table of kinds and from gen/openapi, so it is made on the first request for it, kept as
// finished bytes with an ETag, and costs nothing before.
//
// documents.go maps paths to documents; discovery.go and aggregated.go are the two forms of discovery, version.go the version;
// definitions.go reads the generated type definitions, routes.go says which requests each kind takes, openapi.go has kube-openapi
// build the documents of both versions from them.
package schema
