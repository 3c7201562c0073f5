// Package topologyspread spreads pods over the values of a node label: spec.topologySpreadConstraints (KEP-895), and for pods without any
// the cluster default: over nodes and zones, as a preference, counting the pods of the same controller.
//
// constraint.go reads the constraints and counts, filter.go applies those that must hold, score.go those that should.
package topologyspread
