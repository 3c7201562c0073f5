// Package defaults fills in what an object leaves open, with Kubernetes' values.
//
// One idea: each function completes one object in place, and completing it again changes nothing, since the same
// functions run on what a client sends and on what it read before. Functions called after a type take that type; podspec.go is shared by every kind that
// has a pod template, and is where to begin.
package defaults

// set gives *field the value unless it has one.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setPointer gives *field a pointer to the value unless it has one.
func setPointer[T any](field **T, value T) {
	if *field == nil {
		own := value // so that nothing is allocated where there is a value already
		*field = &own
	}
}
