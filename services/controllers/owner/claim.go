package owner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// Claim is one owner's claim.
type Claim[T apiclient.Object] struct {
	Owner    metav1.Object
	Kind     schema.GroupVersionKind
	Selector labels.Selector
	// Live reads the owner from the api, not from a cache: an owner that was deleted, or replaced by another of its name, adopts
	// nothing. It is called at most once, and only when there is something to adopt.
	Live func(ctx context.Context) (metav1.Object, error)
	// Patch applies a strategic merge patch to an object.
	Patch func(ctx context.Context, obj T, patch []byte) error
}

// Objects returns those of objects that belong to the owner now, having adopted and released. On an error it returns those that are
// certain.
func (c Claim[T]) Objects(ctx context.Context, objects []T) ([]T, error) {
	var mine []T
	var failed []error
	adoptable := func() error { return c.checkLive(ctx) }
	var checked bool
	var checkErr error
	for _, obj := range objects {
		ref := metav1.GetControllerOfNoCopy(obj)
		matches := c.Selector.Matches(labels.Set(obj.GetLabels()))
		switch {
		case ref != nil && ref.UID != c.Owner.GetUID():
			// Another's.
		case ref != nil && matches:
			mine = append(mine, obj)
		case ref != nil:
			// While the owner is being deleted, the garbage collector decides.
			if c.Owner.GetDeletionTimestamp() == nil {
				failed = append(failed, c.release(ctx, obj))
			}
		case !matches || c.Owner.GetDeletionTimestamp() != nil || obj.GetDeletionTimestamp() != nil || obj.GetNamespace() != c.Owner.GetNamespace():
			// Not for us.
		default:
			if !checked {
				checked, checkErr = true, adoptable()
			}
			if checkErr != nil {
				failed = append(failed, checkErr)
				continue
			}
			err := c.adopt(ctx, obj)
			if err == nil {
				mine = append(mine, obj)
			} else if !apierrors.IsNotFound(err) {
				failed = append(failed, err)
			}
		}
	}
	return mine, errors.Join(failed...)
}

func (c Claim[T]) checkLive(ctx context.Context) error {
	live, err := c.Live(ctx)
	if err != nil {
		return err
	}
	if live.GetUID() != c.Owner.GetUID() {
		return fmt.Errorf("original %s %s/%s is gone: got uid %s, wanted %s", c.Kind.Kind, c.Owner.GetNamespace(), c.Owner.GetName(), live.GetUID(), c.Owner.GetUID())
	}
	if live.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s/%s has just been deleted at %v", c.Kind.Kind, c.Owner.GetNamespace(), c.Owner.GetName(), live.GetDeletionTimestamp())
	}
	return nil
}

func (c Claim[T]) adopt(ctx context.Context, obj T) error {
	return c.patch(ctx, obj, metav1.NewControllerRef(c.Owner, c.Kind))
}

func (c Claim[T]) release(ctx context.Context, obj T) error {
	err := c.patch(ctx, obj, map[string]any{"$patch": "delete", "uid": c.Owner.GetUID()})
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		// Gone, or replaced by another of its name.
		return nil
	}
	return err
}

func (c Claim[T]) patch(ctx context.Context, obj T, ref any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": obj.GetUID(), "ownerReferences": []any{ref}}})
	if err != nil {
		return err
	}
	return c.Patch(ctx, obj, patch)
}
