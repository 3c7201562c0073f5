package endpoint

import (
	"context"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	listvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/watchcache"
)

// A watch without a timeout lasts between one and two of these.
const minWatch = 30 * time.Minute

// Get implements Interface.
func (e *Endpoint) Get(ctx context.Context, namespace, name string, options metav1.GetOptions) (*object.Entry, error) {
	fresh, err := watchcache.ParseFreshness(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	stored, err := e.cache.Get(ctx, e.key(namespace, name), fresh)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, e.notFound(name)
	}
	return e.view(stored)
}

// List implements Interface.
func (e *Endpoint) List(ctx context.Context, namespace string, options metav1.ListOptions) (*ListResult, error) {
	filter, err := e.listFilter(namespace, &options, false)
	if err != nil {
		return nil, err
	}
	if options.Limit < 0 {
		options.Limit = 0
	}
	r, err := e.cache.List(ctx, watchcache.ListOptions{
		Filter: filter, ResourceVersion: options.ResourceVersion, Match: options.ResourceVersionMatch, Limit: options.Limit, Continue: options.Continue,
	})
	if err != nil || e.kind.Alias == nil {
		return r, err
	}
	for i, stored := range r.Entries {
		if r.Entries[i], err = e.view(stored); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// listFilter checks the options and makes the filter.
func (e *Endpoint) listFilter(namespace string, o *metav1.ListOptions, watch bool) (watchcache.Filter, error) {
	errs := listvalidation.ValidateListOptions(&internalversion.ListOptions{
		Watch: watch, ResourceVersion: o.ResourceVersion, ResourceVersionMatch: o.ResourceVersionMatch,
		Continue: o.Continue, SendInitialEvents: o.SendInitialEvents,
	}, true)
	if len(errs) > 0 {
		return watchcache.Filter{}, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	return e.filter(namespace, o)
}

// Watch implements Interface.
func (e *Endpoint) Watch(ctx context.Context, namespace string, options metav1.ListOptions) (Watch, error) {
	filter, err := e.listFilter(namespace, &options, true)
	if err != nil {
		return nil, err
	}
	fresh, err := watchcache.ParseFreshness(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	o := watchcache.WatchOptions{
		Filter: filter, Fresh: fresh, After: fresh.AtLeast, Bookmarks: options.AllowWatchBookmarks, Timeout: minWatch + rand.N(minWatch),
	}
	if s := options.TimeoutSeconds; s != nil && *s > 0 {
		o.Timeout = time.Duration(*s) * time.Second
	}
	switch send := options.SendInitialEvents; {
	case send != nil && *send:
		o.Initial, o.InitialEnd = true, options.AllowWatchBookmarks
	case o.After > 0:
	case send == nil:
		// A watch without a resourceVersion begins with what there is, as Kubernetes' first watches did.
		o.Initial = true
	default:
		if fresh.Latest {
			if err := e.set.hub.Latest(ctx); err != nil {
				return nil, err
			}
		}
		o.After = e.set.hub.Revision()
	}
	w, err := e.cache.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	if e.kind.Alias != nil {
		return aliasWatch{w, e}, nil
	}
	return w, nil
}
