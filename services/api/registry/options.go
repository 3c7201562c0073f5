package registry

// Options are what entries need from the server around them.
type Options struct{}
