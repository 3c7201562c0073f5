package garbagecollector

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// live reads n from the api; nil when it is gone or replaced by another of its name.
func (c *collector) live(ctx context.Context, n *node) (*metav1.PartialObjectMetadata, error) {
	live, err := c.clientOf(n).Get(ctx, n.name)
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != n.uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s/%s: %w", n.resource.Kind, n.namespace, n.name, err)
	}
	return live, nil
}

func sameOwners(a, b []metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(a, b) }

// removeOwners takes references out, by uid.
func (c *collector) removeOwners(ctx context.Context, n *node, live *metav1.PartialObjectMetadata, refs []metav1.OwnerReference) error {
	left := slices.DeleteFunc(slices.Clone(live.OwnerReferences), func(r metav1.OwnerReference) bool {
		return slices.ContainsFunc(refs, func(gone metav1.OwnerReference) bool { return gone.UID == r.UID })
	})
	if len(left) == len(live.OwnerReferences) {
		return nil
	}
	return c.patch(ctx, n, live, map[string]any{"ownerReferences": left})
}

// unblock makes n block none of its owners.
func (c *collector) unblock(ctx context.Context, n *node, live *metav1.PartialObjectMetadata) error {
	refs := slices.Clone(live.OwnerReferences)
	for i := range refs {
		refs[i].BlockOwnerDeletion = ptr.To(false)
	}
	return c.patch(ctx, n, live, map[string]any{"ownerReferences": refs})
}

func (c *collector) removeFinalizer(ctx context.Context, n *node, finalizer string) error {
	live, err := c.live(ctx, n)
	if err != nil || live == nil || !slices.Contains(live.Finalizers, finalizer) {
		return err
	}
	left := slices.DeleteFunc(slices.Clone(live.Finalizers), func(f string) bool { return f == finalizer })
	return c.patch(ctx, n, live, map[string]any{"finalizers": left})
}

// patch changes metadata by a merge patch, which custom resources understand too. The revision makes it fail when somebody else was faster, since
// a merge patch replaces lists.
func (c *collector) patch(ctx context.Context, n *node, live *metav1.PartialObjectMetadata, metadata map[string]any) error {
	metadata["uid"], metadata["resourceVersion"] = live.UID, live.ResourceVersion
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	_, err = c.clientOf(n).Patch(ctx, n.name, types.MergePatchType, patch)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching %s %s/%s: %w", n.resource.Kind, n.namespace, n.name, err)
	}
	return nil
}
