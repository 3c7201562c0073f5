package queue

import (
	"container/heap"
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/scheduler/framework"
)

// Times of the queue, as in Kubernetes.
const (
	InitialBackoff   = time.Second
	MaxBackoff       = 10 * time.Second
	MaxUnschedulable = 5 * time.Minute
)

// Item is a waiting pod.
type Item struct {
	framework.QueuedPod
	// Attempts counts how often the pod was tried.
	Attempts int
	// RejectedBy names the plugins that rejected the pod last; empty means that an error did.
	RejectedBy []string
	// TraceParent is the trace context of the write that made the pod wait.
	TraceParent string

	gated bool
	ready time.Time // when the back-off is over, or when it fell asleep
	cycle int64     // the move cycle in which it was popped
	index int
	heap  *itemHeap
}

// Queue is the scheduling queue. Pop is for one goroutine.
type Queue struct {
	framework *framework.Framework
	clock     clock.Clock

	mu       sync.Mutex
	items    map[types.UID]*Item // all but those popped
	active   itemHeap
	backoff  itemHeap
	asleep   map[types.UID]*Item
	inFlight map[types.UID]*Item
	moves    int64
	wake     chan struct{}
}

// New makes an empty queue.
func New(f *framework.Framework, clk clock.Clock) *Queue {
	return &Queue{framework: f, clock: clk, items: map[types.UID]*Item{}, asleep: map[types.UID]*Item{}, inFlight: map[types.UID]*Item{}, wake: make(chan struct{}, 1),
		active:  itemHeap{less: func(a, b *Item) bool { return f.Less(&a.QueuedPod, &b.QueuedPod) }},
		backoff: itemHeap{less: func(a, b *Item) bool { return a.ready.Before(b.ready) }}}
}

// Set adds a pod or tells of its change.
func (q *Queue) Set(ctx context.Context, pod *corev1.Pod, traceParent string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if flying, ok := q.inFlight[pod.UID]; ok {
		// Being tried: it comes back with the new version and does not fall asleep on the old one.
		if schedulingChanged(flying.Pod, pod) {
			flying.cycle = -1
		}
		flying.Pod = pod
		return
	}
	item, known := q.items[pod.UID]
	if !known {
		item = &Item{QueuedPod: framework.QueuedPod{Pod: pod, Added: q.clock.Now()}, TraceParent: traceParent}
		q.items[pod.UID] = item
		q.enqueue(ctx, item)
		return
	}
	changed := schedulingChanged(item.Pod, pod)
	item.Pod = pod
	switch {
	case item.heap == &q.active:
		heap.Fix(&q.active, item.index)
	case changed && q.asleep[pod.UID] != nil:
		if traceParent != "" {
			item.TraceParent = traceParent
		}
		delete(q.asleep, pod.UID)
		q.enqueue(ctx, item)
	}
}

// schedulingChanged tells whether anything changed that a verdict may depend on: status does not count, or the scheduler's own
// notes on the pod would wake it.
func schedulingChanged(old, pod *corev1.Pod) bool {
	return old.Generation != pod.Generation || len(old.Spec.SchedulingGates) != len(pod.Spec.SchedulingGates) ||
		(old.DeletionTimestamp == nil) != (pod.DeletionTimestamp == nil) || !equalMaps(old.Labels, pod.Labels) ||
		len(old.Spec.Tolerations) != len(pod.Spec.Tolerations)
}

func equalMaps(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// enqueue puts an item where it belongs: asleep while gated, in backoff while its time has not come, else active.
func (q *Queue) enqueue(ctx context.Context, item *Item) {
	if s := q.framework.RunPreEnqueue(ctx, item.Pod); !s.OK() {
		item.gated, item.RejectedBy, item.ready = true, []string{s.Plugin}, q.clock.Now()
		q.asleep[item.Pod.UID] = item
		return
	}
	item.gated = false
	if item.Attempts > 0 && q.clock.Now().Before(item.ready) {
		q.backoff.push(item)
	} else {
		q.active.push(item)
	}
	q.signal()
}

// Delete forgets a pod that is gone or bound.
func (q *Queue) Delete(uid types.UID) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.inFlight, uid)
	item, ok := q.items[uid]
	if !ok {
		return
	}
	delete(q.items, uid)
	delete(q.asleep, uid)
	if item.heap != nil {
		heap.Remove(item.heap, item.index)
	}
}

// Pop blocks for the next pod to try. Every popped item is given back with Done or Retry.
func (q *Queue) Pop(ctx context.Context) (*Item, error) {
	for {
		q.mu.Lock()
		now := q.clock.Now()
		for q.backoff.Len() > 0 && !q.backoff.items[0].ready.After(now) {
			q.active.push(heap.Pop(&q.backoff).(*Item))
		}
		if q.active.Len() > 0 {
			item := heap.Pop(&q.active).(*Item)
			delete(q.items, item.Pod.UID)
			item.Attempts++
			item.cycle = q.moves
			q.inFlight[item.Pod.UID] = item
			q.mu.Unlock()
			return item, nil
		}
		var timer <-chan time.Time
		if q.backoff.Len() > 0 {
			timer = q.clock.After(q.backoff.items[0].ready.Sub(now))
		} else {
			timer = q.clock.After(time.Minute)
		}
		q.wakeOverdue(ctx, now)
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-timer:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// wakeOverdue retries what slept for MaxUnschedulable: the safety net for a missed event.
func (q *Queue) wakeOverdue(ctx context.Context, now time.Time) {
	for uid, item := range q.asleep {
		if !item.gated && now.Sub(item.ready) > MaxUnschedulable {
			delete(q.asleep, uid)
			q.enqueue(ctx, item)
		}
	}
}

// Done ends the try of a pod that was bound or needs no node any more.
func (q *Queue) Done(item *Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.inFlight, item.Pod.UID)
}

// Retry gives back a pod that was not placed: rejectedBy names the plugins that said no; empty is an error, which is retried after back-off.
func (q *Queue) Retry(ctx context.Context, item *Item, rejectedBy []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.inFlight[item.Pod.UID]; !ok {
		return // deleted meanwhile
	}
	delete(q.inFlight, item.Pod.UID)
	item.RejectedBy = rejectedBy
	now := q.clock.Now()
	item.ready = now.Add(backoffAfter(item.Attempts))
	q.items[item.Pod.UID] = item
	if len(rejectedBy) == 0 || item.cycle != q.moves {
		q.enqueue(ctx, item)
		return
	}
	q.asleep[item.Pod.UID] = item
}

func backoffAfter(attempts int) time.Duration {
	d := InitialBackoff
	for i := 1; i < attempts && d < MaxBackoff; i++ {
		d *= 2
	}
	return min(d, MaxBackoff)
}

// Move wakes the pods for which one of the plugins that rejected them waits for the event.
func (q *Queue) Move(ctx context.Context, event framework.ClusterEvent) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.moves++
	for uid, item := range q.asleep {
		if item.gated {
			continue
		}
		for _, plugin := range item.RejectedBy {
			if q.framework.Wakes(plugin, event) {
				delete(q.asleep, uid)
				q.enqueue(ctx, item)
				break
			}
		}
	}
}

// Lengths are how many pods wait in each place, for metrics.
func (q *Queue) Lengths() (active, backoff, unschedulable, gated int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, item := range q.asleep {
		if item.gated {
			gated++
		} else {
			unschedulable++
		}
	}
	return q.active.Len(), q.backoff.Len(), unschedulable, gated
}

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// itemHeap is a container/heap of items that know where they are.
type itemHeap struct {
	items []*Item
	less  func(a, b *Item) bool
}

func (h *itemHeap) push(item *Item)    { heap.Push(h, item) }
func (h *itemHeap) Len() int           { return len(h.items) }
func (h *itemHeap) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }
func (h *itemHeap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}

// Push is for container/heap.
func (h *itemHeap) Push(x any) {
	item := x.(*Item)
	item.index, item.heap = len(h.items), h
	h.items = append(h.items, item)
}

// Pop is for container/heap.
func (h *itemHeap) Pop() any {
	last := len(h.items) - 1
	item := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	item.heap = nil
	return item
}
