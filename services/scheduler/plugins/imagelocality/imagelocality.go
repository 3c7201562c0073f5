// Package imagelocality prefers nodes that have the pod's images already.
package imagelocality

import (
	"context"
	"strings"

	"github.com/orrery-io/orrery/services/scheduler/framework"
	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Plugin is ImageLocality.
type Plugin struct{}

// Name of the plugin.
func (Plugin) Name() string { return "ImageLocality" }

// Sizes between which the score rises: below the first an image is pulled in no time, and per container nothing counts beyond the second.
const (
	minThreshold int64 = 23 << 20
	maxThreshold int64 = 1000 << 20
)

// Score grows with the bytes that need not be pulled.
func (Plugin) Score(_ context.Context, _ *framework.CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *framework.Status) {
	var sum int64
	for i := range pod.Pod.Spec.Containers {
		sum += node.Images[normalized(pod.Pod.Spec.Containers[i].Image)]
	}
	most := maxThreshold * int64(len(pod.Pod.Spec.Containers))
	sum = min(max(sum, minThreshold), most)
	if most == minThreshold {
		return 0, nil
	}
	return framework.MaxNodeScore * (sum - minThreshold) / (most - minThreshold), nil
}

func normalized(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		name += ":latest"
	}
	return name
}
