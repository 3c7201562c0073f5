// Package noderesources makes sure that a node has what the pod requests (fit.go), prefers emptier nodes (least allocated), and nodes on which
// CPU and memory are used in like measure (balanced.go).
package noderesources
