package events

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// Sink is where events are written; see ClientSink.
type Sink interface {
	Create(ctx context.Context, event *corev1.Event) (*corev1.Event, error)
	Patch(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error)
}

// ClientSink writes to the api; patches are strategic merge patches.
func ClientSink(c *apiclient.Client) Sink { return clientSink{c} }

type clientSink struct{ client *apiclient.Client }

func (s clientSink) Create(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	return s.client.Events(event.Namespace).Create(ctx, event)
}

func (s clientSink) Patch(ctx context.Context, namespace, name string, patch []byte) (*corev1.Event, error) {
	return s.client.Events(namespace).Patch(ctx, name, types.StrategicMergePatchType, patch, "")
}

// Options of a recorder.
type Options struct {
	// Component names who records: "deployment-controller".
	Component string
	// Host is the machine; the hostname when empty.
	Host   string
	Clock  clock.Clock
	Logger *slog.Logger
}

// queueSize bounds the events that wait to be written.
const queueSize = 1000

type queued struct {
	event *corev1.Event
	span  trace.SpanContext
}

// Recorder records events. Event may be called from anywhere; Run writes.
type Recorder struct {
	sink    Sink
	options Options
	queue   chan queued
	dropped *atomic.Int64
	corr    *correlator
}

// New makes a recorder.
func New(sink Sink, options Options) *Recorder {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.Host == "" {
		options.Host, _ = os.Hostname()
	}
	return &Recorder{sink: sink, options: options, queue: make(chan queued, queueSize), dropped: new(atomic.Int64), corr: newCorrelator(options.Clock)}
}

// For is a recorder of another component that shares this one's queue, so that one Run serves a whole process.
func (r *Recorder) For(component string) *Recorder {
	other := *r
	other.options.Component = component
	return &other
}

// Event records that something happened to obj, in the trace of ctx. eventType is corev1.EventTypeNormal or EventTypeWarning, reason a
// CamelCase word. It never blocks; with the queue full the event is dropped.
func (r *Recorder) Event(ctx context.Context, obj apiclient.Object, eventType, reason, messageFmt string, args ...any) {
	kind, ok := apiclient.KindOf(obj)
	if !ok {
		r.options.Logger.Error("no event can be recorded for an object of unknown kind", "type", fmt.Sprintf("%T", obj), "reason", reason)
		return
	}
	r.Record(ctx, corev1.ObjectReference{
		APIVersion: kind.APIVersion(), Kind: kind.Kind,
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
	}, eventType, reason, messageFmt, args...)
}

// Record is Event for an object, or a part of one (FieldPath), given by reference.
func (r *Recorder) Record(ctx context.Context, about corev1.ObjectReference, eventType, reason, messageFmt string, args ...any) {
	message := messageFmt
	if len(args) > 0 {
		message = fmt.Sprintf(messageFmt, args...)
	}
	// The api refuses messages over 1024 bytes.
	if len(message) > 1024 {
		message = message[:1021] + "..."
	}
	now := r.options.Clock.Now()
	at := metav1.NewTime(now)
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: eventName(about.Name, now)},
		InvolvedObject: about,
		Type:           eventType, Reason: reason, Message: message,
		Source:              corev1.EventSource{Component: r.options.Component, Host: r.options.Host},
		ReportingController: r.options.Component, ReportingInstance: r.options.Host,
		FirstTimestamp: at, LastTimestamp: at, Count: 1,
	}
	select {
	case r.queue <- queued{event, trace.SpanContextFromContext(ctx)}:
	default:
		if n := r.dropped.Add(1); n == 1 || n%1000 == 0 {
			r.options.Logger.Warn("event queue is full, dropping events", "dropped", n)
		}
	}
}

// eventName is unique enough among one object's events.
func eventName(about string, now time.Time) string {
	const maxName = 253
	suffix := fmt.Sprintf(".%x", now.UnixNano())
	return about[:min(len(about), maxName-len(suffix))] + suffix
}

// Dropped is the number of events that did not fit in the queue.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Run writes events until ctx is over; what is queued then is lost, which events may be.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case q := <-r.queue:
			r.write(trace.ContextWithSpanContext(ctx, q.span), q.event)
		}
	}
}

// Attempts to write one event, and the time between them: long enough for an api instance to be replaced by another.
const (
	attempts   = 5
	retryDelay = 2 * time.Second
)

func (r *Recorder) write(ctx context.Context, event *corev1.Event) {
	verdict := r.corr.judge(event)
	if verdict.drop {
		return
	}
	for try := 1; ; try++ {
		stored, err := r.once(ctx, verdict)
		if err == nil {
			r.corr.stored(verdict, stored)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if !worthRetrying(err) || try == attempts {
			// An event in a namespace that is going away is refused as a matter of course.
			level := slog.LevelWarn
			if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err) {
				level = slog.LevelDebug
			}
			r.options.Logger.Log(ctx, level, "an event could not be written", "reason", event.Reason, "object", event.InvolvedObject.Kind+" "+event.InvolvedObject.Namespace+"/"+event.InvolvedObject.Name, "error", err)
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-r.options.Clock.After(retryDelay):
		}
	}
}

func (r *Recorder) once(ctx context.Context, v verdict) (*corev1.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if v.name != "" {
		patch, err := json.Marshal(map[string]any{"count": v.event.Count, "lastTimestamp": v.event.LastTimestamp, "message": v.event.Message})
		if err != nil {
			return nil, err
		}
		stored, err := r.sink.Patch(ctx, v.event.Namespace, v.name, patch)
		if !apierrors.IsNotFound(err) {
			return stored, err
		}
		// The earlier event has expired.
	}
	return r.sink.Create(ctx, v.event)
}

func worthRetrying(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err)
}
