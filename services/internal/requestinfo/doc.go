// Package requestinfo reads a Kubernetes REST request line: which resource it means, and what it wants done with it.
//
// The gateway uses it to pick a route, the api to authorize and to serve. It knows the grammar of paths alone, not which
// resources exist.
//
// parse.go is all there is.
package requestinfo
