// Package apidef links the generated descriptors of the whole API into a binary, so that server reflection can
// describe the typed services and tests can find any message by name.
//
// The one idea: importing is all there is to it; generated packages register themselves. Services that only speak the
// API do without, since they encode the Kubernetes types themselves. Open zz_imports.go for the list.
package apidef
