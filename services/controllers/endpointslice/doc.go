// Package endpointslice writes down which pods stand behind each Service.
//
// One idea: the pods that a Service selects, turned into endpoints, are a set; the Service's EndpointSlices together must hold exactly that
// set. Endpoints stay in the slice where they are, new ones fill the room that is left, and only slices that differ are written, so
// that one pod's change is one small write to everybody who watches.
//
// endpointslice.go has the loop, endpoint.go turns a pod into an endpoint, slices.go fits the set into slices, endpoints.go writes the older
// v1 Endpoints from the same set.
package endpointslice
