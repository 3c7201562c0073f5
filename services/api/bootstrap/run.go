package bootstrap

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/authn"
	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// Find gives the endpoint of a resource.
type Find func(group, version, resource string) (endpoint.Interface, bool)

// item is one object to create.
type item struct {
	group, version, resource string
	object                   object.Object
}

// Run creates what is missing. It stops at the first object that can neither be found nor created.
func Run(ctx context.Context, find Find) error {
	ctx = authn.WithUser(ctx, authn.User{Name: "system:apiserver", Groups: []string{authn.GroupMasters, authn.GroupAuthenticated}})
	for _, items := range [][]item{namespaces(), priorityClasses(), policy(), services()} {
		for _, it := range items {
			if err := ensure(ctx, find, it); err != nil {
				return fmt.Errorf("creating %s %s: %w", it.resource, it.object.GetName(), err)
			}
		}
	}
	return nil
}

func ensure(ctx context.Context, find Find, it item) error {
	e, ok := find(it.group, it.version, it.resource)
	if !ok {
		return fmt.Errorf("the api has no resource %s in %s/%s", it.resource, it.group, it.version)
	}
	namespace := it.object.GetNamespace()
	_, err := e.Get(ctx, namespace, it.object.GetName(), metav1.GetOptions{})
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	_, err = e.Create(ctx, namespace, it.object, metav1.CreateOptions{FieldManager: "orrery-api"})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// Retriable says whether an error of Run may go away by itself: the store was not there.
func Retriable(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsInternalError(err) || apierrors.IsTooManyRequests(err)
}
