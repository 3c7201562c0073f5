package agent

import (
	"context"
	"log/slog"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/orrery-io/orrery/services/internal/informer"
	"github.com/orrery-io/orrery/services/node/nodeapi"
)

// Subscriber is told of a node's pods.
type Subscriber interface {
	// Added tells of a new or changed pod; traceParent is that of the write behind it, or empty.
	Added(pod *corev1.Pod, traceParent string)
	Removed(pod *corev1.Pod)
}

// Pods is a source of pods for one node or several.
type Pods interface {
	// Subscribe tells the subscriber of all pods of the node from now on, those that are there first.
	Subscribe(node string, to Subscriber) (unsubscribe func())
	// Synced is closed when all pods that were there at the start have been told.
	Synced() <-chan struct{}
}

// Source watches pods in the api and hands each to its node's subscriber. One Source, with one stream, serves any number of nodes.
type Source struct {
	informer *informer.Informer[*corev1.Pod]

	mu          sync.Mutex
	subscribers map[string]Subscriber
}

const byNode = "node"

// NewSource makes a Source for one node, or for all when node is empty. Run runs it.
func NewSource(api nodeapi.Interface, node string, logger *slog.Logger) *Source {
	s := &Source{subscribers: map[string]Subscriber{}}
	selector := fields.OneTermNotEqualSelector("spec.nodeName", "")
	if node != "" {
		selector = fields.OneTermEqualSelector("spec.nodeName", node)
	}
	s.informer = informer.New("pods", api.WatchPods, informer.Options[*corev1.Pod]{FieldSelector: selector.String(), Logger: logger,
		Indexes: map[string]informer.IndexFunc[*corev1.Pod]{byNode: func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} }},
		// Nobody here reads who set which field, and it is a large part of a pod.
		Transform: func(pod *corev1.Pod) { pod.ManagedFields = nil },
	})
	s.informer.AddHandler(informer.Handler[*corev1.Pod]{
		Add:    func(pod *corev1.Pod, cause informer.Cause) { s.tell(pod, cause) },
		Update: func(_, pod *corev1.Pod, cause informer.Cause) { s.tell(pod, cause) },
		Delete: func(pod *corev1.Pod, _ informer.Cause) {
			if to := s.subscriber(pod); to != nil {
				to.Removed(pod)
			}
		},
	})
	return s
}

// Run watches until ctx is over.
func (s *Source) Run(ctx context.Context) error { return s.informer.Run(ctx) }

// Synced implements Pods.
func (s *Source) Synced() <-chan struct{} { return s.informer.Synced() }

func (s *Source) subscriber(pod *corev1.Pod) Subscriber {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribers[pod.Spec.NodeName]
}

func (s *Source) tell(pod *corev1.Pod, cause informer.Cause) {
	if to := s.subscriber(pod); to != nil {
		to.Added(pod, cause.TraceParent)
	}
}

// Subscribe implements Pods. A pod may be told twice when it arrives at the same moment; telling is idempotent.
func (s *Source) Subscribe(node string, to Subscriber) (unsubscribe func()) {
	s.mu.Lock()
	s.subscribers[node] = to
	s.mu.Unlock()
	for _, pod := range s.informer.ByIndex(byNode, node) {
		to.Added(pod, "")
	}
	return func() {
		s.mu.Lock()
		delete(s.subscribers, node)
		s.mu.Unlock()
	}
}
