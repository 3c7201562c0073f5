package endpoint

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/api/object"
)

// Interface is the verbs of one kind, the same for every kind. The front ends (typed services, ResourceService,
// RestService) decode a request, call it, and encode what it returns. Errors are *apierrors.StatusError with Kubernetes' code, reason, message and causes. The
// caller is authenticated and authorized before; its identity is in ctx.
type Interface interface {
	Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*object.Entry, error)
	// List returns the selected entries in key order.
	List(ctx context.Context, namespace string, options metav1.ListOptions) (*ListResult, error)
	Watch(ctx context.Context, namespace string, options metav1.ListOptions) (Watch, error)
	// Create stores obj, which it takes over. obj is decoded and not yet defaulted.
	Create(ctx context.Context, namespace string, obj object.Object, options metav1.CreateOptions) (*object.Entry, error)
	// Update replaces the object ("" subresource), or what the subresource shows of it ("status", "finalize", "approval",
	// "ephemeralcontainers", "resize"). created is true when the kind creates on update and it did.
	Update(ctx context.Context, namespace, name, subresource string, obj object.Object, options metav1.UpdateOptions) (entry *object.Entry, created bool, err error)
	Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (entry *object.Entry, created bool, err error)
	// Delete returns the object's last state; gone is false while finalizers or a grace period keep it.
	Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) (entry *object.Entry, gone bool, err error)
	DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions, list metav1.ListOptions) ([]*object.Entry, error)
}

// ListResult is a page of a list.
type ListResult struct {
	Revision           int64
	Entries            []*object.Entry
	Continue           string
	RemainingItemCount *int64
}

// Watch is an open watch of one kind.
type Watch interface {
	// Next blocks for the next event. It returns io.EOF when the watch's time is over, or a *StatusError such as 410 Expired,
	// after which the watch is done.
	Next(ctx context.Context) (WatchEvent, error)
	Close()
}

// WatchEvent is what one watcher sees. Exactly one of Event and Bookmark is set.
type WatchEvent struct {
	// Type is the type for this watcher: a change that enters or leaves its selector is ADDED or DELETED. When a selector turns a
	// change into DELETED, Entry is the version before with the change's revision.
	Type  watch.EventType
	Event *object.Event
	// Entry is the object to show; Event.Entry except where Type is DELETED because of a selector.
	Entry *object.Entry
	// Bookmark carries the revision up to which everything was delivered.
	Bookmark *Bookmark
}

// Bookmark is a BOOKMARK event's content.
type Bookmark struct {
	Revision int64
	// InitialEventsEnd marks the end of the initial events of a streaming list (k8s.io/initial-events-end).
	InitialEventsEnd bool
}
