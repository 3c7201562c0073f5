package podgc

// Watches: Pods, Nodes.
// Writes: Pods' status, Pods (delete without grace), Events.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// quarantine is how long a node must have been missing before its pods go: it may be registering again.
const quarantine = 40 * time.Second

// Config is what the controller needs. Pods must have the index that NodeIndex names, by spec.nodeName.
type Config struct {
	Client    *apiclient.Client
	Pods      *informer.Informer[*corev1.Pod]
	Nodes     *informer.Informer[*corev1.Node]
	NodeIndex string
	Clock     clock.WithTicker
	Logger    *slog.Logger
}

type collector struct {
	Config
	mu      sync.Mutex
	missing map[string]time.Time // node -> when it was first found missing
}

// New makes the controller and registers its handlers; call it before the informers run. Its keys are pods.
func New(config Config) *controller.Controller {
	p := &collector{Config: config, missing: map[string]time.Time{}}
	c := controller.New("podgc", p.reconcile, controller.Options{Workers: 2, Clock: config.Clock, Logger: config.Logger})
	candidate := func(pod *corev1.Pod, cause informer.Cause) {
		if _, ok := config.Nodes.Get(pod.Spec.NodeName); !ok && (pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil) {
			c.Enqueue(informer.Key(pod), cause)
		}
	}
	config.Pods.AddHandler(informer.Handler[*corev1.Pod]{Add: candidate, Update: func(_, pod *corev1.Pod, cause informer.Cause) { candidate(pod, cause) }})
	config.Nodes.AddHandler(informer.Handler[*corev1.Node]{Delete: func(node *corev1.Node, cause informer.Cause) {
		for _, pod := range config.Pods.ByIndex(config.NodeIndex, node.Name) {
			c.Enqueue(informer.Key(pod), cause)
		}
	}})
	return c
}

func (c *collector) reconcile(ctx context.Context, key string) (controller.Result, error) {
	pod, ok := c.Pods.Get(key)
	if !ok {
		return controller.Result{}, nil
	}
	node := pod.Spec.NodeName
	if node == "" {
		if pod.DeletionTimestamp == nil {
			return controller.Result{}, nil
		}
		return controller.Result{}, c.delete(ctx, pod)
	}
	if wait, err := c.present(ctx, node); wait != 0 || err != nil {
		return controller.Result{After: max(0, wait)}, err
	}
	marked := pod.DeepCopy()
	marked.Status.Conditions = slices.DeleteFunc(marked.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	marked.Status.Conditions = append(marked.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC", Message: "PodGC: node no longer exists",
		LastTransitionTime: metav1.NewTime(c.Clock.Now()),
	})
	if marked.Status.Phase != corev1.PodSucceeded {
		marked.Status.Phase = corev1.PodFailed
	}
	if _, err := c.Client.Pods(pod.Namespace).UpdateStatus(ctx, marked); err != nil {
		if apierrors.IsNotFound(err) {
			return controller.Result{}, nil
		}
		return controller.Result{}, fmt.Errorf("marking pod %s: %w", key, err)
	}
	return controller.Result{}, c.delete(ctx, pod)
}

// present says how long to wait before the node counts as gone: 0 is gone, -1 is there.
func (c *collector) present(ctx context.Context, node string) (time.Duration, error) {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.Nodes.Get(node); ok {
		delete(c.missing, node)
		return -1, nil
	}
	since, ok := c.missing[node]
	if !ok {
		since = now
		c.missing[node] = now
	}
	if left := since.Add(quarantine).Sub(now); left > 0 {
		return left, nil
	}
	c.mu.Unlock()
	_, err := c.Client.Nodes().Get(ctx, node)
	c.mu.Lock()
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("looking for node %s: %w", node, err)
	}
	return -1, nil
}

func (c *collector) delete(ctx context.Context, pod *corev1.Pod) error {
	err := c.Client.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting pod %s/%s, which has no node: %w", pod.Namespace, pod.Name, err)
	}
	c.Logger.Info("deleted a pod without a node", "pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName)
	return nil
}
