// Package apiclient is how every Orrery service speaks to the api: the same typed gRPC services that users have, in Go, with the
// k8s.io/api types as messages.
//
// One idea: Resource is the verbs of any kind, so a typed client is one line: client.Pods("default").Get(ctx, "web"). Errors are
// *apierrors.StatusError, so apierrors.IsNotFound and its kin work as with client-go.
//
// config.go dials, resource.go has the verbs, watch.go the event stream, kinds.go the typed accessors with their
// subresources, metadata.go reads any resource by name as metadata alone (garbage collector, namespace deletion).
package apiclient
