// Package registry says what each kind is: one file per API group, one entry per kind, with its defaults, its validation in Kubernetes' own
// words, its table columns and its special rules. What is the same for every kind is not here but in package endpoint.
//
// kind.go has the shape of an entry and is where to begin.
package registry
