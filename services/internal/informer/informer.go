package informer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// Stream is an open watch; *apiclient.Watch and *apiclient.MetadataWatch are.
type Stream[T apiclient.Object] interface {
	Recv() (apiclient.Event[T], error)
	Close()
}

// WatchFunc opens a watch.
type WatchFunc[T apiclient.Object] func(ctx context.Context, options metav1.ListOptions) (Stream[T], error)

// Watching is the WatchFunc of a typed client.
func Watching[T apiclient.Object, L apiclient.List](r apiclient.Resource[T, L]) WatchFunc[T] {
	return func(ctx context.Context, options metav1.ListOptions) (Stream[T], error) {
		w, err := r.Watch(ctx, options)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
}

// WatchingMetadata is the WatchFunc of a metadata client.
func WatchingMetadata(m apiclient.Metadata) WatchFunc[*metav1.PartialObjectMetadata] {
	return func(ctx context.Context, options metav1.ListOptions) (Stream[*metav1.PartialObjectMetadata], error) {
		w, err := m.Watch(ctx, options)
		if err != nil {
			return nil, err
		}
		return w, nil
	}
}

// Cause says which write is behind a change.
type Cause struct {
	// TraceParent is the W3C trace context of the write; empty when it had none, and for changes found by starting anew.
	TraceParent string
}

// Handler is told of changes, on the informer's goroutine and in order: it must not block, and enqueues keys as a rule. Any function may be
// nil. The objects are shared and must not be changed.
type Handler[T apiclient.Object] struct {
	Add    func(obj T, cause Cause)
	Update func(old, obj T, cause Cause)
	// Delete gets the object's last known state.
	Delete func(obj T, cause Cause)
}

// Options of an informer; the zero value is fine.
type Options[T apiclient.Object] struct {
	// LabelSelector and FieldSelector narrow what is watched.
	LabelSelector, FieldSelector string
	// Indexes are found by name with ByIndex.
	Indexes map[string]IndexFunc[T]
	// Transform may drop what the owner never reads, before an object is stored.
	Transform func(obj T)
	Clock     clock.Clock
	Logger    *slog.Logger
}

// Informer is the local copy of one resource.
type Informer[T apiclient.Object] struct {
	name     string
	watch    WatchFunc[T]
	options  Options[T]
	store    *store[T]
	handlers []Handler[T]
	synced   chan struct{}
	once     sync.Once

	mu       sync.Mutex
	revision string
}

// New makes an informer; name is for logs: "pods". Add handlers, then Run.
func New[T apiclient.Object](name string, watch WatchFunc[T], options Options[T]) *Informer[T] {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	return &Informer[T]{name: name, watch: watch, options: options, store: newStore(options.Indexes), synced: make(chan struct{})}
}

// Of makes an informer of a typed client.
func Of[T apiclient.Object, L apiclient.List](r apiclient.Resource[T, L], options Options[T]) *Informer[T] {
	return New(r.Kind().Plural, Watching(r), options)
}

// AddHandler registers a handler; only before Run.
func (i *Informer[T]) AddHandler(h Handler[T]) { i.handlers = append(i.handlers, h) }

// Get returns the object with the key (see Key).
func (i *Informer[T]) Get(key string) (T, bool) { return i.store.get(key) }

// List returns all objects, in no order.
func (i *Informer[T]) List() []T { return i.store.list() }

// ByIndex returns the objects that the named index has under value.
func (i *Informer[T]) ByIndex(name, value string) []T { return i.store.byIndex(name, value) }

// Len is the number of objects.
func (i *Informer[T]) Len() int { return i.store.len() }

// Revision is the newest resourceVersion seen.
func (i *Informer[T]) Revision() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.revision
}

func (i *Informer[T]) setRevision(rv string) {
	i.mu.Lock()
	i.revision = rv
	i.mu.Unlock()
}

// Synced is closed when the copy was complete for the first time.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// HasSynced tells whether Synced is closed.
func (i *Informer[T]) HasSynced() bool {
	select {
	case <-i.synced:
		return true
	default:
		return false
	}
}

// WaitForSync waits until all informers are synced, or ctx is over.
func WaitForSync(ctx context.Context, informers ...interface{ Synced() <-chan struct{} }) error {
	for _, i := range informers {
		select {
		case <-i.Synced():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Back-off between attempts to open the stream.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// Run keeps the copy until ctx is over, and returns ctx's error. It reconnects by itself.
func (i *Informer[T]) Run(ctx context.Context) error {
	backoff := minBackoff
	for {
		received, err := i.stream(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if received {
			backoff = minBackoff
		}
		if expired := apierrors.IsResourceExpired(err) || apierrors.IsGone(err); expired && i.Revision() != "" {
			i.options.Logger.Info("watch expired, starting anew", "resource", i.name, "revision", i.Revision(), "reason", err)
			i.setRevision("")
			continue
		}
		if received && errors.Is(err, io.EOF) {
			continue
		}
		i.options.Logger.Warn("watch broke", "resource", i.name, "error", err, "retry_in", backoff)
		// Jitter keeps a fleet from coming back in step.
		wait := backoff/2 + rand.N(backoff/2+1)
		backoff = min(2*backoff, maxBackoff)
		select {
		case <-i.options.Clock.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stream opens one watch and follows it to its end. received tells whether anything arrived.
func (i *Informer[T]) stream(ctx context.Context) (received bool, err error) {
	options := metav1.ListOptions{LabelSelector: i.options.LabelSelector, FieldSelector: i.options.FieldSelector, AllowWatchBookmarks: true, ResourceVersion: i.Revision()}
	// A fresh copy is gathered beside the old one, so that readers never see it half filled.
	var fresh map[string]T
	if options.ResourceVersion == "" {
		initial := true
		options.SendInitialEvents, options.ResourceVersionMatch = &initial, metav1.ResourceVersionMatchNotOlderThan
		fresh = map[string]T{}
	}
	w, err := i.watch(ctx, options)
	if err != nil {
		return false, err
	}
	defer w.Close()
	for {
		event, err := w.Recv()
		if err != nil {
			return received, err
		}
		received = true
		revision := event.Object.GetResourceVersion()
		if event.Type == watch.Bookmark {
			if fresh != nil && event.Object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
				i.replace(fresh, revision)
				fresh = nil
				i.once.Do(func() { close(i.synced) })
			} else if fresh == nil {
				i.setRevision(revision)
			}
			continue
		}
		if i.options.Transform != nil {
			i.options.Transform(event.Object)
		}
		if fresh != nil {
			if event.Type == watch.Deleted {
				delete(fresh, Key(event.Object))
			} else {
				fresh[Key(event.Object)] = event.Object
			}
			continue
		}
		i.apply(event, revision)
	}
}

// apply stores, then moves the revision, then tells: a handler, and whoever it wakes, finds the change in the copy and in Revision.
func (i *Informer[T]) apply(event apiclient.Event[T], revision string) {
	key, cause := Key(event.Object), Cause{TraceParent: event.TraceParent}
	if event.Type == watch.Deleted {
		_, had := i.store.remove(key)
		i.setRevision(revision)
		if had {
			i.deleted(event.Object, cause)
		}
		return
	}
	old, had := i.store.set(key, event.Object)
	i.setRevision(revision)
	i.changed(old, had, event.Object, cause)
}

// replace makes the copy equal to fresh and reports the difference.
func (i *Informer[T]) replace(fresh map[string]T, revision string) {
	before := i.store.replace(fresh)
	i.setRevision(revision)
	for key, old := range before {
		if _, ok := fresh[key]; !ok {
			i.deleted(old, Cause{})
		}
	}
	for key, obj := range fresh {
		old, had := before[key]
		if had && old.GetResourceVersion() == obj.GetResourceVersion() {
			continue
		}
		i.changed(old, had, obj, Cause{})
	}
}

func (i *Informer[T]) changed(old T, had bool, obj T, cause Cause) {
	switch {
	case !had:
		i.added(obj, cause)
	case old.GetUID() != obj.GetUID():
		// Deleted and made again while nobody looked.
		i.deleted(old, cause)
		i.added(obj, cause)
	default:
		i.updated(old, obj, cause)
	}
}

func (i *Informer[T]) added(obj T, cause Cause) {
	for _, h := range i.handlers {
		if h.Add != nil {
			h.Add(obj, cause)
		}
	}
}

func (i *Informer[T]) updated(old, obj T, cause Cause) {
	for _, h := range i.handlers {
		if h.Update != nil {
			h.Update(old, obj, cause)
		}
	}
}

func (i *Informer[T]) deleted(obj T, cause Cause) {
	for _, h := range i.handlers {
		if h.Delete != nil {
			h.Delete(obj, cause)
		}
	}
}
