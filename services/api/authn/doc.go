// Package authn says who makes a request.
//
// One idea: an identity is decided once, at the door, and travels in the context. Behind the door nobody looks at
// certificates or headers again.
//
// user.go has User and its place in the context; authenticate.go decides it from a call's TLS peer and metadata.
package authn
