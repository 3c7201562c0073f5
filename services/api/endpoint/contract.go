package endpoint

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/watchcache"
)

// Interface is the verbs of one kind, the same for every kind. The front ends (typed services, ResourceService,
// RestService) decode a request, call it, and encode what it returns. Errors are *apierrors.StatusError with Kubernetes' code, reason, message and causes. The
// caller is authenticated and authorized before; its identity is in ctx. Warnings for the caller go to package warning's
// collector in ctx.
type Interface interface {
	Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*object.Entry, error)
	// List returns the selected entries in key order.
	List(ctx context.Context, namespace string, options metav1.ListOptions) (*ListResult, error)
	Watch(ctx context.Context, namespace string, options metav1.ListOptions) (Watch, error)
	// Create stores obj, which it takes over. obj is decoded and not yet defaulted.
	Create(ctx context.Context, namespace string, obj object.Object, options metav1.CreateOptions) (*object.Entry, error)
	// Update replaces the object ("" subresource), or what the subresource shows of it ("status", "finalize", "approval",
	// "ephemeralcontainers", "resize", "scale"). obj is what NewSubresource makes. created is true when the kind creates on
	// update and it did.
	Update(ctx context.Context, namespace, name, subresource string, obj object.Object, options metav1.UpdateOptions) (entry *object.Entry, created bool, err error)
	Patch(ctx context.Context, namespace, name, subresource string, kind types.PatchType, patch []byte, options metav1.PatchOptions) (entry *object.Entry, created bool, err error)
	// Delete returns the object's last state; gone is false while finalizers or a grace period keep it.
	Delete(ctx context.Context, namespace, name string, options metav1.DeleteOptions) (entry *object.Entry, gone bool, err error)
	DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions, list metav1.ListOptions) ([]*object.Entry, error)

	// NewSubresource makes the empty object that the subresource exchanges ("": the kind itself); nil when the kind has no
	// such subresource or it exchanges none (log, exec and the like are not served here).
	NewSubresource(subresource string) object.Object
	// GetSubresource reads what the subresource shows: the object itself ("status", "approval", ...) or its own kind ("scale").
	GetSubresource(ctx context.Context, namespace, name, subresource string, options metav1.GetOptions) (*object.Entry, error)
	// CreateSubresource serves "binding" and "eviction". A nil entry means success with a Status (201) for an answer.
	CreateSubresource(ctx context.Context, namespace, name, subresource string, obj object.Object, options metav1.CreateOptions) (*object.Entry, error)
}

// ListResult is a page of a list.
type ListResult = watchcache.ListResult

// Watch is an open watch of one kind.
type Watch interface {
	// Next blocks for the next event. It returns io.EOF when the watch's time is over, or a *StatusError such as 410 Expired,
	// after which the watch is done. One goroutine at a time may call it.
	Next(ctx context.Context) (WatchEvent, error)
	Close()
}

// WatchEvent is what one watcher sees; see watchcache.WatchEvent.
type WatchEvent = watchcache.WatchEvent

// Bookmark is a BOOKMARK event's content.
type Bookmark = watchcache.Bookmark
