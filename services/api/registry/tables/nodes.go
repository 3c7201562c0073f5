package tables

import (
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeColumns are the columns of nodes.
var NodeColumns = []metav1.TableColumnDefinition{
	nameColumn,
	column("Status", "string", "Whether the node is ready, and whether it takes pods."),
	column("Roles", "string", "Roles of the node, by its labels."),
	ageColumn,
	column("Version", "string", "Version of the node's agent."),
	wide("Internal-IP", "string", "Address of the node in the cluster."),
	wide("External-IP", "string", "Address of the node outside of the cluster."),
	wide("OS-Image", "string", "Operating system of the node."),
	wide("Kernel-Version", "string", "Kernel of the node."),
	wide("Container-Runtime", "string", "Container runtime of the node and its version."),
}

// Node is the row of a node.
func (r Rows) Node(n *corev1.Node) []any {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	info := n.Status.NodeInfo
	return []any{
		n.Name, status, or(strings.Join(roles(n), ","), none), r.age(n), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		or(info.OSImage, unknown), or(info.KernelVersion, unknown), or(info.ContainerRuntimeVersion, unknown),
	}
}

func roles(n *corev1.Node) []string {
	var list []string
	for label, value := range n.Labels {
		if role, ok := strings.CutPrefix(label, "node-role.kubernetes.io/"); ok {
			list = append(list, role)
		} else if label == "kubernetes.io/role" {
			list = append(list, value)
		}
	}
	return distinct(list)
}

func nodeAddress(n *corev1.Node, kind corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == kind {
			return a.Address
		}
	}
	return none
}

// LeaseColumns are the columns of leases.
var LeaseColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Holder", "string", "Who holds the lease."), ageColumn,
}

// Lease is the row of a lease.
func (r Rows) Lease(l *coordinationv1.Lease) []any {
	return []any{l.Name, pointerOr(l.Spec.HolderIdentity, ""), r.age(l)}
}

// RuntimeClassColumns are the columns of runtime classes.
var RuntimeClassColumns = []metav1.TableColumnDefinition{
	nameColumn, column("Handler", "string", "Name of the configuration in the container runtime."), ageColumn,
}

// RuntimeClass is the row of a runtime class.
func (r Rows) RuntimeClass(c *nodev1.RuntimeClass) []any { return []any{c.Name, c.Handler, r.age(c)} }
