package snapshot

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is the nodes as they were at one moment, sorted by name.
type Snapshot struct{ Nodes []*NodeInfo }

// Node finds a node by name.
func (s *Snapshot) Node(name string) (*NodeInfo, bool) {
	at, ok := slices.BinarySearchFunc(s.Nodes, name, func(n *NodeInfo, name string) int { return cmp.Compare(n.Node.Name, name) })
	if !ok {
		return nil, false
	}
	return s.Nodes[at], true
}

// New makes a snapshot of given infos, for tests and for what-if questions.
func New(nodes ...*NodeInfo) *Snapshot {
	slices.SortFunc(nodes, func(a, b *NodeInfo) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return &Snapshot{Nodes: nodes}
}

// NewNodeInfo makes the info of a node and pods.
func NewNodeInfo(node *corev1.Node, pods ...*corev1.Pod) *NodeInfo {
	info := (&NodeInfo{}).withNode(node)
	for _, p := range pods {
		info = info.withPod(NewPodInfo(p))
	}
	return info
}

// Cache follows the cluster and remembers which pods were just placed. An assumed pod counts on its node from the decision
// on; the watch confirms it, or the failed binding forgets it.
type Cache struct {
	mu    sync.Mutex
	nodes map[string]*NodeInfo // with a nil Node while only pods of it are known
	pods  map[types.UID]podState
	// last is the newest snapshot, nil when nodes came or went since; dirty names the nodes that changed since.
	last  *Snapshot
	dirty map[string]struct{}
}

type podState struct {
	info    *PodInfo
	node    string
	assumed bool
}

// NewCache makes an empty cache.
func NewCache() *Cache {
	return &Cache{nodes: map[string]*NodeInfo{}, pods: map[types.UID]podState{}, dirty: map[string]struct{}{}}
}

// Snapshot is the current state: the last one again when nothing changed, else one copy of the nodes' pointers.
func (c *Cache) Snapshot() *Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.last == nil:
		infos := make([]*NodeInfo, 0, len(c.nodes))
		for _, n := range c.nodes {
			if n.Node != nil {
				infos = append(infos, n)
			}
		}
		c.last = New(infos...)
	case len(c.dirty) > 0:
		next := slices.Clone(c.last.Nodes)
		for name := range c.dirty {
			at, _ := slices.BinarySearchFunc(next, name, func(n *NodeInfo, name string) int { return cmp.Compare(n.Node.Name, name) })
			next[at] = c.nodes[name]
		}
		c.last = &Snapshot{Nodes: next}
	}
	clear(c.dirty)
	return c.last
}

func (c *Cache) put(name string, info *NodeInfo) {
	old := c.nodes[name]
	c.nodes[name] = info
	if old == nil || old.Node == nil || info.Node == nil {
		c.last = nil
		return
	}
	c.dirty[name] = struct{}{}
}

// SetNode adds or updates a node.
func (c *Cache) SetNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(node.Name, c.at(node.Name).withNode(node))
}

// RemoveNode forgets a node; pods still on it stay known until their own deletion.
func (c *Cache) RemoveNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info := *c.at(name)
	info.Node = nil
	if len(info.Pods) == 0 {
		delete(c.nodes, name)
		c.last = nil
		return
	}
	c.put(name, &info)
}

func (c *Cache) at(name string) *NodeInfo {
	if n, ok := c.nodes[name]; ok {
		return n
	}
	return &NodeInfo{}
}

// SetPod adds or updates a pod that is bound to a node, and confirms an assumed one.
func (c *Cache) SetPod(pod *corev1.Pod) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.pods[pod.UID]; ok {
		c.drop(old)
	}
	c.add(podState{info: NewPodInfo(pod), node: pod.Spec.NodeName})
}

// RemovePod forgets a pod that is gone or has finished.
func (c *Cache) RemovePod(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.pods[uid]; ok {
		c.drop(old)
	}
}

// Assume counts a pod on a node before the API knows of it.
func (c *Cache) Assume(pod *PodInfo, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.pods[pod.Pod.UID]; ok {
		return fmt.Errorf("pod %s/%s is already on node %q", pod.Pod.Namespace, pod.Pod.Name, old.node)
	}
	c.add(podState{info: pod, node: node, assumed: true})
	return nil
}

// Forget undoes Assume; a pod that was confirmed meanwhile stays.
func (c *Cache) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.pods[uid]; ok && old.assumed {
		c.drop(old)
	}
}

// Has tells whether the pod counts on some node.
func (c *Cache) Has(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pods[uid]
	return ok
}

func (c *Cache) add(s podState) {
	c.pods[s.info.Pod.UID] = s
	c.put(s.node, c.at(s.node).withPod(s.info))
}

func (c *Cache) drop(s podState) {
	delete(c.pods, s.info.Pod.UID)
	info := c.at(s.node).withoutPod(s.info)
	if info.Node == nil && len(info.Pods) == 0 {
		delete(c.nodes, s.node)
		return
	}
	c.put(s.node, info)
}
