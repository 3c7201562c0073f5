// Package status says how pods are: it computes a pod's status from what the runtime has, and writes it to the api.
//
// One idea: the status is a pure function (Generate) of the pod, the runtime's state and what the worker knows, so it is computed anew after every
// change; the Writer compares, coalesces and writes only what differs, never holding the worker up.
//
// generate.go puts the status together, containers.go does the containers' part, phase.go and conditions.go the pod's; writer.go writes.
package status
