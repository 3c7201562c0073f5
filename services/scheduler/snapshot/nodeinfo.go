package snapshot

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Requests of a container that names none, for scoring only: a node full of such pods is not empty.
const (
	DefaultMilliCPU int64 = 100
	DefaultMemory   int64 = 200 << 20
)

// Resources are amounts: millicores, bytes, pods, and the plain value of any other resource.
type Resources struct {
	MilliCPU, Memory, EphemeralStorage, Pods int64
	Scalar                                   map[corev1.ResourceName]int64
}

// NewResources reads a resource list.
func NewResources(list corev1.ResourceList) Resources {
	r := Resources{}
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			r.MilliCPU = q.MilliValue()
		case corev1.ResourceMemory:
			r.Memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			r.EphemeralStorage = q.Value()
		case corev1.ResourcePods:
			r.Pods = q.Value()
		default:
			if r.Scalar == nil {
				r.Scalar = map[corev1.ResourceName]int64{}
			}
			r.Scalar[name] = q.Value()
		}
	}
	return r
}

// Get is the amount of one resource.
func (r Resources) Get(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return r.MilliCPU
	case corev1.ResourceMemory:
		return r.Memory
	case corev1.ResourceEphemeralStorage:
		return r.EphemeralStorage
	case corev1.ResourcePods:
		return r.Pods
	}
	return r.Scalar[name]
}

// add returns r with sign times o added; the maps are not shared.
func (r Resources) add(o Resources, sign int64) Resources {
	r.MilliCPU += sign * o.MilliCPU
	r.Memory += sign * o.Memory
	r.EphemeralStorage += sign * o.EphemeralStorage
	r.Pods += sign * o.Pods
	if len(o.Scalar) > 0 {
		scalar := maps.Clone(r.Scalar)
		if scalar == nil {
			scalar = map[corev1.ResourceName]int64{}
		}
		for name, v := range o.Scalar {
			scalar[name] += sign * v
		}
		r.Scalar = scalar
	}
	return r
}

// PodInfo is a pod with its sums, computed once.
type PodInfo struct {
	Pod *corev1.Pod
	// Requests are the pod's effective requests, with 1 for Pods.
	Requests Resources
	// NonZero has the default amounts of CPU and memory for containers that request none.
	NonZero Resources
	Ports   []HostPort
}

// HostPort is a port that a pod takes on its node.
type HostPort struct {
	IP       string
	Protocol corev1.Protocol
	Port     int32
}

// NewPodInfo computes the sums of a pod.
func NewPodInfo(pod *corev1.Pod) *PodInfo {
	p := &PodInfo{Pod: pod}
	p.Requests = NewResources(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))
	p.Requests.Pods = 1
	p.NonZero = NewResources(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{NonMissingContainerRequests: nonMissing}))
	p.NonZero.Pods = 1
	for i := range pod.Spec.Containers {
		p.addPorts(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			p.addPorts(c)
		}
	}
	return p
}

var nonMissing = corev1.ResourceList{
	corev1.ResourceCPU:    *resource.NewMilliQuantity(DefaultMilliCPU, resource.DecimalSI),
	corev1.ResourceMemory: *resource.NewQuantity(DefaultMemory, resource.BinarySI),
}

func (p *PodInfo) addPorts(c *corev1.Container) {
	for _, port := range c.Ports {
		if port.HostPort > 0 {
			ip, protocol := port.HostIP, port.Protocol
			if ip == "" {
				ip = "0.0.0.0"
			}
			if protocol == "" {
				protocol = corev1.ProtocolTCP
			}
			p.Ports = append(p.Ports, HostPort{IP: ip, Protocol: protocol, Port: port.HostPort})
		}
	}
}

// NodeInfo is a node and the pods on it. It is never changed.
type NodeInfo struct {
	Node        *corev1.Node
	Pods        []*PodInfo
	Requested   Resources
	NonZero     Resources
	Allocatable Resources
	// Images has the size in bytes of every image name on the node.
	Images map[string]int64
}

// withNode returns the info with another version of the node.
func (n *NodeInfo) withNode(node *corev1.Node) *NodeInfo {
	c := *n
	c.Node, c.Allocatable = node, NewResources(node.Status.Allocatable)
	c.Images = make(map[string]int64, len(node.Status.Images))
	for _, image := range node.Status.Images {
		for _, name := range image.Names {
			c.Images[name] = image.SizeBytes
		}
	}
	return &c
}

// withPod returns the info with the pod added.
func (n *NodeInfo) withPod(p *PodInfo) *NodeInfo {
	c := *n
	c.Pods = append(slices.Clip(n.Pods), p)
	c.Requested, c.NonZero = n.Requested.add(p.Requests, 1), n.NonZero.add(p.NonZero, 1)
	return &c
}

// withoutPod returns the info with the pod removed.
func (n *NodeInfo) withoutPod(p *PodInfo) *NodeInfo {
	c := *n
	c.Pods = make([]*PodInfo, 0, len(n.Pods))
	for _, other := range n.Pods {
		if other.Pod.UID != p.Pod.UID {
			c.Pods = append(c.Pods, other)
		}
	}
	c.Requested, c.NonZero = n.Requested.add(p.Requests, -1), n.NonZero.add(p.NonZero, -1)
	return &c
}

// WithPod and WithoutPod let a plugin ask what would be if.
func (n *NodeInfo) WithPod(p *PodInfo) *NodeInfo { return n.withPod(p) }

// WithoutPod is the info as if the pod were not there.
func (n *NodeInfo) WithoutPod(p *PodInfo) *NodeInfo { return n.withoutPod(p) }
