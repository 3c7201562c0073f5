// Package owner decides which objects belong to a controller object, and makes it so.
//
// One idea: an object belongs to the one owner that its controller reference names. An owner adopts what its selector matches and nobody
// owns, and releases what it owns and its selector no longer matches; both are patches that name the object's uid, so that they
// never hit a successor of the same name.
//
// claim.go has the claiming, index.go the index by which an owner finds its objects, pods.go what a pod's state means to an owner.
package owner
