// Package convert turns objects between two API versions of one stored kind.
//
// One idea: an object is stored once, in one version, and every other version is a view that loses nothing on the way there and
// back. events.go has events.k8s.io/v1 Event and v1 Event; autoscaler.go has autoscaling/v1 and v2 HorizontalPodAutoscaler, with
// its metrics in autoscaler_metrics.go.
package convert
