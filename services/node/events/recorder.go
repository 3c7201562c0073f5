// Package events tells users what the node does, as Event objects beside their pods.
//
// One idea: recording never holds the agent up. Events go into a bounded queue that one goroutine sends; the same event again raises a
// count instead of making another object.
package events

import (
	"container/list"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

const (
	// queueLength is how many events may wait for the api; more are dropped.
	queueLength = 1000
	// remembered is how many different events are known, to raise their counts.
	remembered = 4096
	attempts   = 5
)

// Sink stores events.
type Sink interface {
	CreateEvent(ctx context.Context, event *corev1.Event) (*corev1.Event, error)
	PatchEvent(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error)
}

// Recorder records events of one node. It is safe for concurrent use.
type Recorder struct {
	sink   Sink
	node   string
	clock  clock.Clock
	logger *slog.Logger
	queue  chan queued
	known  map[key]*list.Element
	recent *list.List
}

type queued struct {
	event *corev1.Event
	span  trace.SpanContext
}

// key is what makes two events the same.
type key struct{ uid, fieldPath, kind, reason, message string }

type seen struct {
	key             key
	namespace, name string
	count           int32
}

// New makes a Recorder for a node; Run sends what it records.
func New(sink Sink, node string, clock clock.Clock, logger *slog.Logger) *Recorder {
	return &Recorder{sink: sink, node: node, clock: clock, logger: logger, queue: make(chan queued, queueLength), known: map[key]*list.Element{}, recent: list.New()}
}

// Pod records an event about a pod; kind is corev1.EventTypeNormal or EventTypeWarning.
func (r *Recorder) Pod(ctx context.Context, pod *corev1.Pod, kind, reason, format string, args ...any) {
	r.record(ctx, reference(pod, ""), kind, reason, format, args...)
}

// Container records an event about one of the pod's containers.
func (r *Recorder) Container(ctx context.Context, pod *corev1.Pod, container, kind, reason, format string, args ...any) {
	list := "containers"
	for _, c := range pod.Spec.InitContainers {
		if c.Name == container {
			list = "initContainers"
		}
	}
	r.record(ctx, reference(pod, "spec."+list+"{"+container+"}"), kind, reason, format, args...)
}

// Node records an event about the node.
func (r *Recorder) Node(ctx context.Context, kind, reason, format string, args ...any) {
	r.record(ctx, corev1.ObjectReference{Kind: "Node", Name: r.node, UID: ""}, kind, reason, format, args...)
}

func reference(pod *corev1.Pod, fieldPath string) corev1.ObjectReference {
	return corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion, FieldPath: fieldPath}
}

func (r *Recorder) record(ctx context.Context, about corev1.ObjectReference, kind, reason, format string, args ...any) {
	now := r.clock.Now()
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", about.Name, now.UnixNano()), Namespace: namespace},
		InvolvedObject: about, Reason: reason, Message: fmt.Sprintf(format, args...), Type: kind,
		Source:         corev1.EventSource{Component: "kubelet", Host: r.node},
		FirstTimestamp: metav1.NewTime(now), LastTimestamp: metav1.NewTime(now), Count: 1,
		ReportingController: "kubelet", ReportingInstance: r.node,
	}
	select {
	case r.queue <- queued{event, trace.SpanContextFromContext(ctx)}:
	default:
		r.logger.Warn("event dropped: too many wait for the api", "object", about.Name, "reason", reason)
	}
}

// Run sends events until ctx is over.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case q := <-r.queue:
			r.send(trace.ContextWithRemoteSpanContext(ctx, q.span), q.event)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *Recorder) send(ctx context.Context, event *corev1.Event) {
	k := key{string(event.InvolvedObject.UID), event.InvolvedObject.FieldPath, event.Type, event.Reason, event.Message}
	wait := 200 * time.Millisecond
	for range attempts {
		err := r.try(ctx, k, event)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsAlreadyExists(err) || apierrors.IsBadRequest(err):
			// The namespace is gone or the event is not wanted: trying again changes nothing.
			r.logger.Debug("event refused", "object", event.InvolvedObject.Name, "reason", event.Reason, "error", err)
			return
		}
		r.logger.Debug("event not stored, trying again", "reason", event.Reason, "error", err)
		select {
		case <-r.clock.After(wait):
			wait *= 4
		case <-ctx.Done():
			return
		}
	}
}

func (r *Recorder) try(ctx context.Context, k key, event *corev1.Event) error {
	if element, ok := r.known[k]; ok {
		s := element.Value.(*seen)
		patch, err := json.Marshal(map[string]any{"count": s.count + 1, "lastTimestamp": event.LastTimestamp})
		if err != nil {
			return err
		}
		if _, err = r.sink.PatchEvent(ctx, s.namespace, s.name, patch); err == nil {
			s.count++
			r.recent.MoveToFront(element)
			return nil
		} else if !apierrors.IsNotFound(err) {
			return err
		}
		// The old one has expired.
		r.recent.Remove(element)
		delete(r.known, k)
	}
	if _, err := r.sink.CreateEvent(ctx, event); err != nil {
		return err
	}
	r.known[k] = r.recent.PushFront(&seen{key: k, namespace: event.Namespace, name: event.Name, count: 1})
	for r.recent.Len() > remembered {
		oldest := r.recent.Back()
		delete(r.known, oldest.Value.(*seen).key)
		r.recent.Remove(oldest)
	}
	return nil
}
