package endpoint

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/object"
)

// deleters is how many objects of a collection are deleted at a time: enough to share the store's commits.
const deleters = 16

// DeleteCollection implements Interface: it deletes what a list shows, one object after the other, and returns that list.
func (e *Endpoint) DeleteCollection(ctx context.Context, namespace string, options metav1.DeleteOptions, list metav1.ListOptions) ([]*object.Entry, error) {
	if err := validateDelete(&options); err != nil {
		return nil, err
	}
	r, err := e.List(ctx, namespace, list)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *object.Entry)
	var group sync.WaitGroup
	for range min(deleters, len(r.Entries)) {
		group.Go(func() {
			for entry := range work {
				own := options
				_, _, err := e.remove(ctx, entry.Object.GetNamespace(), entry.Object.GetName(), &own, nil)
				if err != nil && !apierrors.IsNotFound(err) {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, entry := range r.Entries {
		select {
		case work <- entry:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	group.Wait()
	if ctx.Err() != nil {
		return nil, e.fail("", context.Cause(ctx))
	}
	return r.Entries, nil
}
