// Package podgc deletes pods that nobody is left to delete: those on nodes that no longer exist, and those that were deleted before they had a
// node.
//
// podgc.go has all of it.
package podgc
