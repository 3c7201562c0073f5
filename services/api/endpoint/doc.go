// Package endpoint is the verbs: what get, list, watch, create, update, patch and delete mean, the same for every kind.
//
// One idea: a verb knows no kind. What differs between kinds is data in package registry; an Endpoint is that entry put
// together with the store, the cache and admission. Every write runs the same way,
//
//	default > mutate (admission) > prepare > validate > validate (admission) > compare and swap
//
// inside storage.Update's loop for objects that exist, so a lost race is decided anew on the newer version.
//
// contract.go has the interface for the front ends, set.go puts the endpoints together, then one file a verb: read.go, create.go,
// update.go, patch.go, delete.go. prepare.go and validate.go are the two middle steps; selector.go turns selectors into
// what the cache can look up. Subresources that exchange a kind of their own have their own files: scale.go, binding.go, eviction.go;
// those that show a part of the object are in parts.go. alias.go serves kinds that are another view of a stored one.
package endpoint
