// Package namespace empties namespaces that are being deleted.
//
// One idea: the api keeps a deleted namespace for as long as spec.finalizers names "kubernetes". This loop deletes everything in it, of every
// resource that the api serves, looks whether anything is left, and takes the finalizer away when nothing is. Pods go first and alone, so that
// what they use (secrets, network policies) is there until they have ended.
//
// namespace.go has the loop, content.go deletes and counts, conditions.go says in the status what it waits for.
package namespace
