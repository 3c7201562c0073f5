package nodelifecycle

// Watches: Nodes, Leases in kube-node-lease, Pods.
// Writes: Nodes' status conditions and taints, Pods' status (condition Ready), Pods (delete), Events.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/events"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// Component is the name under which the controller records events.
const Component = "node-controller"

// ByNode is the index of pods by spec.nodeName.
const ByNode = "node"

// IndexByNode is the function of the index ByNode.
func IndexByNode(pod *corev1.Pod) []string {
	if pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

// Config is what the controller needs. Pods must have the index ByNode.
type Config struct {
	Client *apiclient.Client
	Nodes  *informer.Informer[*corev1.Node]
	// Leases are those of kube-node-lease.
	Leases *informer.Informer[*coordinationv1.Lease]
	Pods   *informer.Informer[*corev1.Pod]
	Events *events.Recorder
	// GracePeriod is how long a node may be silent; StartupGracePeriod how long one that has never posted a status.
	GracePeriod, StartupGracePeriod time.Duration
	Clock                           clock.WithTicker
	Logger                          *slog.Logger
}

type nodes struct {
	Config
	health health
	zones  zones
}

// New makes the controller and registers its handlers; call it before the informers run. Its keys are nodes.
func New(config Config) *controller.Controller {
	n := &nodes{Config: config}
	c := controller.New("nodelifecycle", n.reconcile, controller.Options{Workers: 4, Clock: config.Clock, Logger: config.Logger})
	config.Nodes.AddHandler(controller.Handle(c, controller.Self[*corev1.Node]))
	heard := func(lease *coordinationv1.Lease) {
		// Every node renews every few seconds: only remember it. The reconcile that was put off looks again.
		if n.health.heard(lease.Name, leaseBeat(lease), config.Clock.Now()) {
			c.Enqueue(lease.Name, informer.Cause{})
		}
	}
	config.Leases.AddHandler(informer.Handler[*coordinationv1.Lease]{
		Add:    func(lease *coordinationv1.Lease, _ informer.Cause) { heard(lease) },
		Update: func(_, lease *coordinationv1.Lease, _ informer.Cause) { heard(lease) },
	})
	config.Pods.AddHandler(controller.Handle(c, func(pod *corev1.Pod) []string {
		// Pods matter on nodes that are given up or not ready.
		node, ok := config.Nodes.Get(pod.Spec.NodeName)
		if pod.Spec.NodeName == "" || !ok || len(noExecute(node)) == 0 && readyStatus(node) == corev1.ConditionTrue {
			return nil
		}
		return []string{node.Name}
	}))
	return c
}

func (n *nodes) reconcile(ctx context.Context, name string) (controller.Result, error) {
	node, ok := n.Nodes.Get(name)
	if !ok {
		n.health.forget(name)
		return controller.Result{}, nil
	}
	node, next, err := n.checkHealth(ctx, node)
	if err != nil {
		return controller.Result{}, err
	}
	n.noteTransition(ctx, node)
	node, wait, err := n.taint(ctx, node)
	if err != nil {
		return controller.Result{}, err
	}
	next = sooner(next, wait)
	if readyStatus(node) != corev1.ConditionTrue {
		err = n.markPodsNotReady(ctx, node)
	}
	wait, evictErr := n.evict(ctx, node)
	return controller.Result{After: sooner(next, wait)}, errors.Join(err, evictErr)
}

// noteTransition records that a node became ready or no longer is.
func (n *nodes) noteTransition(ctx context.Context, node *corev1.Node) {
	now := readyStatus(node)
	before, known := n.health.setReady(node.Name, now)
	if !known || (before == corev1.ConditionTrue) == (now == corev1.ConditionTrue) {
		return
	}
	reason := "NodeReady"
	if now != corev1.ConditionTrue {
		reason = "NodeNotReady"
	}
	n.Logger.Info("node changed", "node", node.Name, "ready", now)
	n.Events.Event(ctx, node, corev1.EventTypeNormal, reason, "Node %s status is now: %s", node.Name, reason)
}

// markPodsNotReady takes the pods of a silent node out of service: nobody there would say so. A node that is heard and not ready reports its
// pods itself.
func (n *nodes) markPodsNotReady(ctx context.Context, node *corev1.Node) error {
	if readyStatus(node) != corev1.ConditionUnknown {
		return nil
	}
	var failed []error
	for _, pod := range n.Pods.ByIndex(ByNode, node.Name) {
		for i, c := range pod.Status.Conditions {
			if c.Type != corev1.PodReady || c.Status != corev1.ConditionTrue {
				continue
			}
			pod := pod.DeepCopy()
			pod.Status.Conditions[i].Status = corev1.ConditionFalse
			pod.Status.Conditions[i].LastTransitionTime.Time = n.Clock.Now()
			n.Events.Event(ctx, pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
			if _, err := n.Client.Pods(pod.Namespace).UpdateStatus(ctx, pod); err != nil {
				failed = append(failed, fmt.Errorf("marking pod %s/%s not ready: %w", pod.Namespace, pod.Name, err))
			}
			break
		}
	}
	return errors.Join(failed...)
}

// sooner is the earlier of two waits; 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
