// Package agent puts a node's parts together: it feeds pods from the api and changes from the runtime to the pods' workers, clears away what nobody
// asks for, and keeps logs small.
//
// agent.go wires the parts and runs them, pods.go is where pods come from, housekeeping.go clears away.
package agent
