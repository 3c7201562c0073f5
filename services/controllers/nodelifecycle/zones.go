package nodelifecycle

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/node/topology"
)

const (
	// oneEvery is the time between two nodes given up in a zone; slowly the same in a large zone of which most is ill.
	oneEvery, slowly = 10 * time.Second, 100 * time.Second
	// A zone of more than large nodes counts as large, one in which illShare or more are ill (and more than two) as mostly ill.
	large    = 50
	illShare = 0.55
	// lookAgain is when a node is looked at again that nobody is given up of for now.
	lookAgain = 5 * time.Second
)

// zones limit how fast nodes are given up. Nodes that fail one by one are the nodes' fault; many at once are more likely cut off, and moving
// their work would make it worse.
type zones struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// wait is how long node has to wait until it may be given up; 0 takes its turn.
func (z *zones) wait(node *corev1.Node, all []*corev1.Node, now time.Time) time.Duration {
	zone := topology.GetZoneKey(node)
	size, ill, healthyAnywhere := 0, 0, false
	for _, other := range all {
		ready := readyStatus(other) == corev1.ConditionTrue && other.Name != node.Name
		healthyAnywhere = healthyAnywhere || ready
		if topology.GetZoneKey(other) == zone {
			size++
			if !ready {
				ill++
			}
		}
	}
	period := oneEvery
	switch {
	case !healthyAnywhere:
		// There is nowhere to move the work to, and most likely it is this controller that hears nobody.
		return lookAgain
	case ill < size && ill > 2 && float64(ill) >= illShare*float64(size):
		if size <= large {
			return lookAgain
		}
		period = slowly
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.last == nil {
		z.last = map[string]time.Time{}
	}
	if last, ok := z.last[zone]; ok {
		if left := last.Add(period).Sub(now); left > 0 {
			return left
		}
	}
	z.last[zone] = now
	return 0
}
