package framework

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Score bounds of a node after normalization.
const (
	MinNodeScore int64 = 0
	MaxNodeScore int64 = 100
)

// Plugin has a name. What it does is told by the extension points below that it implements.
type Plugin interface{ Name() string }

// PreEnqueue decides whether a pod may enter the active queue at all (scheduling gates).
type PreEnqueue interface {
	Plugin
	PreEnqueue(ctx context.Context, pod *corev1.Pod) *Status
}

// QueueSort orders the active queue; exactly one plugin does.
type QueueSort interface {
	Plugin
	Less(a, b *QueuedPod) bool
}

// QueuedPod is what QueueSort compares.
type QueuedPod struct {
	Pod *corev1.Pod
	// Added is when the pod was first seen.
	Added time.Time
}

// EnqueueExtensions says which events may make a pod schedulable that the plugin rejected. A plugin without it is woken by
// every event.
type EnqueueExtensions interface {
	Plugin
	EventsToRegister() []ClusterEvent
}

// PreFilter computes what Filter needs once for the pod, and may name the only nodes worth looking at. Skip skips the plugin's Filter.
type PreFilter interface {
	Plugin
	PreFilter(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot) (*PreFilterResult, *Status)
}

// PreFilterResult names the only nodes worth looking at; a nil set means all.
type PreFilterResult struct{ NodeNames sets.Set[string] }

// Filter decides whether the pod can run on the node.
type Filter interface {
	Plugin
	Filter(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *Status
}

// PostFilter runs when no node passed: it may make room (preemption) and name the node to try again.
type PostFilter interface {
	Plugin
	PostFilter(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot, rejected NodeStatuses) (nominated string, status *Status)
}

// NodeStatuses is why each node was rejected.
type NodeStatuses map[string]*Status

// PreScore computes what Score needs once for the pod. Skip skips the plugin's Score.
type PreScore interface {
	Plugin
	PreScore(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, feasible []*snapshot.NodeInfo) *Status
}

// Score rates a feasible node; higher is better.
type Score interface {
	Plugin
	Score(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) (int64, *Status)
}

// ScoreNormalizer brings the scores of all nodes into MinNodeScore..MaxNodeScore.
type ScoreNormalizer interface {
	NormalizeScore(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, scores []int64)
}

// Reserve is told of the decision before it is bound, and must undo what it did when binding fails.
type Reserve interface {
	Plugin
	Reserve(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status
	Unreserve(ctx context.Context, state *CycleState, pod *corev1.Pod, node string)
}

// Permit may hold the pod back before binding (Wait, for at most the returned time) or refuse it.
type Permit interface {
	Plugin
	Permit(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) (*Status, time.Duration)
}

// PreBind does what must be done before the pod is bound (provision a volume).
type PreBind interface {
	Plugin
	PreBind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status
}

// Bind binds the pod; Skip leaves it to the next plugin.
type Bind interface {
	Plugin
	Bind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status
}

// PostBind is told of a bound pod.
type PostBind interface {
	Plugin
	PostBind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string)
}

// ClusterEvent is a kind of change that may make a rejected pod schedulable.
type ClusterEvent string

// Events that plugins can wait for.
const (
	NodeAdd               ClusterEvent = "NodeAdd"
	NodeUpdateAllocatable ClusterEvent = "NodeUpdateAllocatable"
	NodeUpdateLabel       ClusterEvent = "NodeUpdateLabel"
	NodeUpdateTaint       ClusterEvent = "NodeUpdateTaint"
	NodeUpdateCondition   ClusterEvent = "NodeUpdateCondition"
	AssignedPodAdd        ClusterEvent = "AssignedPodAdd"
	AssignedPodUpdate     ClusterEvent = "AssignedPodUpdate"
	AssignedPodDelete     ClusterEvent = "AssignedPodDelete"
	PodUpdate             ClusterEvent = "PodUpdate" // the waiting pod itself changed
)

// CycleState is what plugins remember during one pod's scheduling.
type CycleState struct {
	values     map[string]any
	skipFilter sets.Set[string]
	skipScore  sets.Set[string]
}

// NewCycleState makes an empty one.
func NewCycleState() *CycleState {
	return &CycleState{values: map[string]any{}, skipFilter: sets.New[string](), skipScore: sets.New[string]()}
}

// Write keeps a value under the plugin's key.
func (s *CycleState) Write(key string, value any) { s.values[key] = value }

// Read returns what was kept, nil when nothing was.
func (s *CycleState) Read(key string) any { return s.values[key] }
