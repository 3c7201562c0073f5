// Package prioritysort orders the queue: higher priority first, then who waits longer.
package prioritysort

import (
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/orrery-io/orrery/services/scheduler/framework"
)

// Plugin is PrioritySort.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "PrioritySort" }

// Less puts a before b.
func (Plugin) Less(a, b *framework.QueuedPod) bool {
	pa, pb := corev1helpers.PodPriority(a.Pod), corev1helpers.PodPriority(b.Pod)
	return pa > pb || pa == pb && a.Added.Before(b.Added)
}
