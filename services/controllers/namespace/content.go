package namespace

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// content is what one round found.
type content struct {
	discovery error                        // the api could not say what it serves
	failed    []error                      // deletions that failed
	remaining map[schema.GroupResource]int // number of objects left
	finalizer map[string]int               // number of objects that a finalizer keeps
}

func (c content) err() error { return errors.Join(append(c.failed, c.discovery)...) }

// empty deletes what is in the namespace and counts what is left.
func (c Config) empty(ctx context.Context, namespace string) content {
	found := content{remaining: map[schema.GroupResource]int{}, finalizer: map[string]int{}}
	resources, err := c.Client.Resources(ctx)
	if err != nil {
		found.discovery = err
		return found
	}
	pods := func(r apiclient.APIResource) bool { return r.Group == "" && r.Resource == "pods" }
	for _, only := range []bool{true, false} {
		for _, r := range resources {
			if !r.Namespaced || !r.Has("delete", "list") || pods(r) != only {
				continue
			}
			if err := c.emptyOf(ctx, namespace, r, &found); err != nil {
				found.failed = append(found.failed, fmt.Errorf("%s: %w", r.GroupResource(), err))
			}
		}
		if len(found.remaining) > 0 || len(found.failed) > 0 {
			break
		}
	}
	return found
}

func (c Config) emptyOf(ctx context.Context, namespace string, r apiclient.APIResource, found *content) error {
	client := c.Client.Metadata(r.GroupVersionResource, namespace)
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	before, err := client.List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		// The resource itself has gone meanwhile.
		return nil
	}
	if err != nil || len(before.Items) == 0 {
		return err
	}
	if r.Has("deletecollection") {
		err = client.DeleteCollection(ctx, options, metav1.ListOptions{})
	}
	if !r.Has("deletecollection") || apierrors.IsMethodNotSupported(err) {
		err = nil
		for i := range before.Items {
			if derr := client.Delete(ctx, before.Items[i].Name, options); derr != nil && !apierrors.IsNotFound(derr) {
				err = errors.Join(err, derr)
			}
		}
	}
	if err != nil {
		return err
	}
	left, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if n := len(left.Items); n > 0 {
		found.remaining[r.GroupResource()] = n
	}
	for i := range left.Items {
		for _, f := range left.Items[i].Finalizers {
			found.finalizer[f]++
		}
	}
	return nil
}
