package nodelifecycle

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// beat is a heartbeat as the node wrote it; only whether it changes matters.
type beat string

func leaseBeat(lease *coordinationv1.Lease) beat {
	if lease.Spec.RenewTime == nil {
		return ""
	}
	return beat(lease.Spec.RenewTime.UTC().Format(time.RFC3339Nano))
}

// statusBeat is the heartbeat in the node's status, which counts as well as the Lease.
func statusBeat(node *corev1.Node) beat {
	if c := readyCondition(node); c != nil && c.Reason != statusUnknown && c.Reason != neverUpdated {
		return beat(c.LastHeartbeatTime.UTC().Format(time.RFC3339Nano))
	}
	return ""
}

// health is when each node was last heard.
type health struct {
	mu     sync.Mutex
	byName map[string]*heartbeat
}

type heartbeat struct {
	lease, status beat
	at            time.Time // by our clock
	ready         corev1.ConditionStatus
	silent        bool
}

func (h *health) of(name string, now time.Time) *heartbeat {
	if h.byName == nil {
		h.byName = map[string]*heartbeat{}
	}
	b := h.byName[name]
	if b == nil {
		b = &heartbeat{at: now}
		h.byName[name] = b
	}
	return b
}

// heard notes a Lease's heartbeat and tells whether the node is heard again after it was silent, or for the first time.
func (h *health) heard(name string, lease beat, now time.Time) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known := h.byName[name]
	b := h.of(name, now)
	if b.lease != lease {
		news = b.silent
		b.lease, b.at, b.silent = lease, now, false
	}
	return news || !known
}

// since is when the node was last heard, its present status included.
func (h *health) since(node *corev1.Node, now time.Time) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.of(node.Name, now)
	if s := statusBeat(node); s != "" && s != b.status {
		b.status, b.at, b.silent = s, now, false
	}
	return b.at
}

func (h *health) restart(name string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(name, now).at = now
}

func (h *health) setSilent(name string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of(name, now).silent = true
}

func (h *health) setReady(name string, ready corev1.ConditionStatus) (before corev1.ConditionStatus, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.of(name, time.Time{})
	before, b.ready = b.ready, ready
	return before, before != ""
}

func (h *health) forget(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byName, name)
}

const (
	statusUnknown = "NodeStatusUnknown"
	neverUpdated  = "NodeStatusNeverUpdated"
)

// reported are the conditions that a node reports.
var reported = []corev1.NodeConditionType{corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	return conditionOf(node, corev1.NodeReady)
}

func conditionOf(node *corev1.Node, t corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// readyStatus is the node's Ready condition; a node that has none yet is taken as not ready.
func readyStatus(node *corev1.Node) corev1.ConditionStatus {
	if c := readyCondition(node); c != nil {
		return c.Status
	}
	return corev1.ConditionFalse
}

// checkHealth marks a silent node and returns it as it is then. next is when it has to be looked at again if nothing is heard of it.
func (n *nodes) checkHealth(ctx context.Context, node *corev1.Node) (current *corev1.Node, next time.Duration, err error) {
	now := n.Clock.Now()
	grace := n.GracePeriod
	if readyCondition(node) == nil {
		grace = n.StartupGracePeriod
	}
	if left := n.health.since(node, now).Add(grace).Sub(now); left > 0 {
		return node, left + time.Millisecond, nil
	}
	if silent, err := n.silent(ctx, node.Name); err != nil || !silent {
		return node, grace, err
	}
	n.health.setSilent(node.Name, now)
	marked := node.DeepCopy()
	if !markUnknown(marked, now) {
		return node, 0, nil
	}
	updated, err := n.Client.Nodes().UpdateStatus(ctx, marked)
	if err != nil {
		return node, 0, fmt.Errorf("marking node %s as silent: %w", node.Name, err)
	}
	return updated, 0, nil
}

// silent asks the api itself. When the api does not answer, the node could not be heard either: its time begins anew.
func (n *nodes) silent(ctx context.Context, name string) (bool, error) {
	lease, err := n.Client.Leases(corev1.NamespaceNodeLease).Get(ctx, name)
	now := n.Clock.Now()
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		n.health.restart(name, now)
		return false, fmt.Errorf("reading the lease of node %s: %w", name, err)
	}
	n.health.mu.Lock()
	known := n.health.of(name, now).lease
	n.health.mu.Unlock()
	if beat := leaseBeat(lease); beat != known {
		n.health.heard(name, beat, now)
		return false, nil
	}
	return true, nil
}

// markUnknown sets what the node reports to Unknown.
func markUnknown(node *corev1.Node, now time.Time) (changed bool) {
	for _, t := range reported {
		c := conditionOf(node, t)
		switch {
		case c == nil:
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: t, Status: corev1.ConditionUnknown, Reason: neverUpdated, Message: "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: metav1.NewTime(now),
			})
		case c.Status != corev1.ConditionUnknown:
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, statusUnknown, "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.NewTime(now)
		default:
			continue
		}
		changed = true
	}
	return changed
}
