package framework

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/scheduler/snapshot"
)

// Weighted is a plugin with the weight of its scores.
type Weighted struct {
	Plugin Plugin
	Weight int64
}

// Framework runs the plugins of one profile at each extension point.
type Framework struct {
	preEnqueue []PreEnqueue
	queueSort  QueueSort
	preFilter  []PreFilter
	filter     []Filter
	postFilter []PostFilter
	preScore   []PreScore
	score      []Score
	weights    []int64
	reserve    []Reserve
	permit     []Permit
	preBind    []PreBind
	bind       []Bind
	postBind   []PostBind
	events     map[string]sets.Set[ClusterEvent]
	clock      clock.Clock

	mu      sync.Mutex
	waiting map[types.UID]chan *Status
}

// New makes a framework of plugins, which run in the given order.
func New(clk clock.Clock, plugins ...Weighted) (*Framework, error) {
	f := &Framework{events: map[string]sets.Set[ClusterEvent]{}, clock: clk, waiting: map[types.UID]chan *Status{}}
	for _, w := range plugins {
		p := w.Plugin
		add(&f.preEnqueue, p)
		add(&f.preFilter, p)
		add(&f.filter, p)
		add(&f.postFilter, p)
		add(&f.preScore, p)
		if add(&f.score, p) {
			f.weights = append(f.weights, max(w.Weight, 1))
		}
		add(&f.reserve, p)
		add(&f.permit, p)
		add(&f.preBind, p)
		add(&f.bind, p)
		add(&f.postBind, p)
		if s, ok := p.(QueueSort); ok {
			if f.queueSort != nil {
				return nil, fmt.Errorf("plugins %s and %s both sort the queue: only one can", f.queueSort.Name(), s.Name())
			}
			f.queueSort = s
		}
		if e, ok := p.(EnqueueExtensions); ok {
			f.events[p.Name()] = sets.New(e.EventsToRegister()...)
		}
	}
	if f.queueSort == nil {
		return nil, errors.New("no plugin sorts the queue")
	}
	if len(f.bind) == 0 {
		return nil, errors.New("no plugin binds pods")
	}
	return f, nil
}

func add[P Plugin](list *[]P, p Plugin) bool {
	typed, ok := p.(P)
	if ok {
		*list = append(*list, typed)
	}
	return ok
}

// Less orders the queue.
func (f *Framework) Less(a, b *QueuedPod) bool { return f.queueSort.Less(a, b) }

// Wakes tells whether the event may make a pod schedulable that the plugin rejected.
func (f *Framework) Wakes(plugin string, event ClusterEvent) bool {
	events, ok := f.events[plugin]
	return !ok || event == PodUpdate || events.Has(event)
}

// RunPreEnqueue asks whether the pod may be queued.
func (f *Framework) RunPreEnqueue(ctx context.Context, pod *corev1.Pod) *Status {
	for _, p := range f.preEnqueue {
		if s := p.PreEnqueue(ctx, pod); !s.OK() {
			return named(s, p)
		}
	}
	return nil
}

// RunPreFilters computes what the filters need. The result narrows the nodes down; nil means all.
func (f *Framework) RunPreFilters(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot) (sets.Set[string], *Status) {
	var only sets.Set[string]
	for _, p := range f.preFilter {
		r, s := p.PreFilter(ctx, state, pod, nodes)
		if s.IsSkip() {
			state.skipFilter.Insert(p.Name())
			continue
		}
		if !s.OK() {
			verdict(ctx, "PreFilter", named(s, p), "")
			return nil, s
		}
		if r != nil && r.NodeNames != nil {
			if only == nil {
				only = r.NodeNames
			} else {
				only = only.Intersection(r.NodeNames)
			}
		}
	}
	return only, nil
}

// RunFilters asks whether the pod fits the node: nil when it does.
func (f *Framework) RunFilters(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, node *snapshot.NodeInfo) *Status {
	for _, p := range f.filter {
		if state.skipFilter.Has(p.Name()) {
			continue
		}
		if s := p.Filter(ctx, state, pod, node); !s.OK() {
			verdict(ctx, "Filter", named(s, p), node.Node.Name)
			return s
		}
	}
	return nil
}

// RunPostFilters runs until a plugin nominates a node; the messages of the others are joined.
func (f *Framework) RunPostFilters(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, nodes *snapshot.Snapshot, rejected NodeStatuses) (string, *Status) {
	result := NewStatus(Unschedulable)
	for _, p := range f.postFilter {
		nominated, s := p.PostFilter(ctx, state, pod, nodes, rejected)
		if s.OK() {
			return nominated, nil
		}
		if s.Code == Error {
			return "", named(s, p)
		}
		result.Reasons = append(result.Reasons, s.Reasons...)
	}
	return "", result
}

// RunScores rates the feasible nodes: the weighted sum for each, in their order.
func (f *Framework) RunScores(ctx context.Context, state *CycleState, pod *snapshot.PodInfo, feasible []*snapshot.NodeInfo) ([]int64, *Status) {
	for _, p := range f.preScore {
		s := p.PreScore(ctx, state, pod, feasible)
		if s.IsSkip() {
			state.skipScore.Insert(p.Name())
			continue
		}
		if !s.OK() {
			return nil, named(s, p)
		}
	}
	span := trace.SpanFromContext(ctx)
	totals, scores := make([]int64, len(feasible)), make([]int64, len(feasible))
	for i, p := range f.score {
		if state.skipScore.Has(p.Name()) {
			continue
		}
		for n, node := range feasible {
			score, s := p.Score(ctx, state, pod, node)
			if !s.OK() {
				return nil, named(s, p)
			}
			scores[n] = score
		}
		if normalizer, ok := p.(ScoreNormalizer); ok {
			normalizer.NormalizeScore(ctx, state, pod, scores)
		}
		for n := range scores {
			totals[n] += scores[n] * f.weights[i]
		}
		if span.IsRecording() {
			span.AddEvent("Score", trace.WithAttributes(attribute.String("plugin", p.Name()), attribute.Int64Slice("scores", scores)))
		}
	}
	return totals, nil
}

// RunReserve tells the plugins of the decision; on a refusal those already told are told of its end.
func (f *Framework) RunReserve(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status {
	for i, p := range f.reserve {
		if s := p.Reserve(ctx, state, pod, node); !s.OK() {
			for _, done := range f.reserve[:i+1] {
				done.Unreserve(ctx, state, pod, node)
			}
			return named(s, p)
		}
	}
	return nil
}

// RunUnreserve undoes RunReserve.
func (f *Framework) RunUnreserve(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) {
	for i := len(f.reserve) - 1; i >= 0; i-- {
		f.reserve[i].Unreserve(ctx, state, pod, node)
	}
}

// RunPermit asks whether the pod may be bound, and waits as long as a plugin says.
func (f *Framework) RunPermit(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status {
	var longest time.Duration
	wait := false
	for _, p := range f.permit {
		s, timeout := p.Permit(ctx, state, pod, node)
		switch {
		case s.OK():
		case s.Code == Wait:
			wait, longest = true, max(longest, timeout)
		default:
			return named(s, p)
		}
	}
	if !wait {
		return nil
	}
	decided := make(chan *Status, 1)
	f.mu.Lock()
	f.waiting[pod.UID] = decided
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.waiting, pod.UID)
		f.mu.Unlock()
	}()
	select {
	case s := <-decided:
		return s
	case <-f.clock.After(longest):
		return NewStatus(Unschedulable, "timed out waiting for permission to bind")
	case <-ctx.Done():
		return AsStatus(ctx.Err())
	}
}

// Decide ends the wait of a pod that Permit holds back; nil lets it pass. It tells whether the pod was waiting.
func (f *Framework) Decide(uid types.UID, s *Status) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	decided, ok := f.waiting[uid]
	if ok {
		delete(f.waiting, uid)
		decided <- s
	}
	return ok
}

// RunPreBind does what must be done before binding.
func (f *Framework) RunPreBind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status {
	for _, p := range f.preBind {
		if s := p.PreBind(ctx, state, pod, node); !s.OK() && !s.IsSkip() {
			return named(s, p)
		}
	}
	return nil
}

// RunBind binds the pod by the first plugin that does not skip it.
func (f *Framework) RunBind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) *Status {
	for _, p := range f.bind {
		if s := p.Bind(ctx, state, pod, node); !s.IsSkip() {
			return named(s, p)
		}
	}
	return NewStatus(Error, "no plugin bound the pod")
}

// RunPostBind tells of a bound pod.
func (f *Framework) RunPostBind(ctx context.Context, state *CycleState, pod *corev1.Pod, node string) {
	for _, p := range f.postBind {
		p.PostBind(ctx, state, pod, node)
	}
}

func named(s *Status, p Plugin) *Status {
	if s != nil {
		s.Plugin = p.Name()
	}
	return s
}

// verdict puts a refusal on the trace.
func verdict(ctx context.Context, point string, s *Status, node string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(point, trace.WithAttributes(attribute.String("plugin", s.Plugin), attribute.String("node", node),
			attribute.String("code", s.Code.String()), attribute.String("reason", s.Message())))
	}
}
