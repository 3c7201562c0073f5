// Package admission decides whether a write that is authorized and well formed may happen, and may change it first.
//
// One idea: an ordered chain. Mutating plugins see the object before it is prepared and validated, validating ones
// after; both see the old object, and the caller's identity in the context. The endpoints call the chain, each plugin is one
// file.
//
// chain.go has the chain and what a plugin is, namespace.go the first plugin: nothing comes to be outside of a living
// namespace.
package admission
