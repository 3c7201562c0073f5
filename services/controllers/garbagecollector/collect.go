package garbagecollector

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/controller"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// lagRecheck is when an object is looked at again of which the api shows dependents that the graph does not.
const lagRecheck = 50 * time.Millisecond

// unknownKindRecheck is when an object is looked at again whose owner is of a kind that the api does not serve (now).
const unknownKindRecheck = 5 * time.Minute

// reconcile decides about one object, given by its uid.
func (c *collector) reconcile(ctx context.Context, key string) (controller.Result, error) {
	n, ok := c.graph.get(types.UID(key))
	switch {
	case !ok:
		return controller.Result{}, nil
	case n.deleting && n.orphansDependents:
		return c.orphan(ctx, n)
	case n.foreground():
		return c.awaitDependents(ctx, n)
	case n.deleting || len(n.owners) == 0:
		return controller.Result{}, nil
	}
	var gone, waiting []metav1.OwnerReference
	solid, unknown := false, false
	for _, ref := range n.owners {
		state, err := c.ownerState(ctx, n, ref)
		if err != nil {
			return controller.Result{}, err
		}
		switch state {
		case absent:
			gone = append(gone, ref)
		case waitsForDependents:
			waiting = append(waiting, ref)
		case unknownKind:
			unknown = true
		default:
			solid = true
		}
	}
	if unknown {
		// Nothing can be said about that owner, so nothing is done.
		return controller.Result{After: unknownKindRecheck}, nil
	}
	if len(gone)+len(waiting) == 0 {
		return controller.Result{}, nil
	}
	if len(waiting) > 0 && !solid {
		if current, err := c.current(ctx, n); err != nil || !current {
			return controller.Result{After: lagRecheck}, err
		}
	}
	return controller.Result{}, c.act(ctx, n, solid, gone, waiting)
}

type ownerState int

const (
	present ownerState = iota
	waitsForDependents
	absent
	unknownKind
)

// ownerState says whether an owner of n is there, by the graph if that has it, else by the api.
func (c *collector) ownerState(ctx context.Context, n *node, ref metav1.OwnerReference) (ownerState, error) {
	resource, known := c.monitors.byKind(ref.APIVersion, ref.Kind)
	if !known {
		return unknownKind, nil
	}
	namespace := ""
	if resource.Namespaced {
		if namespace = n.namespace; namespace == "" {
			// Something without a namespace cannot be owned by something in one: nobody can tell which is meant.
			c.Logger.Warn("a cluster-scoped object names an owner in a namespace and will not be collected",
				"kind", n.resource.Kind, "name", n.name, "owner_kind", ref.Kind, "owner", ref.Name)
			return present, nil
		}
	}
	if o, ok := c.graph.get(ref.UID); ok && o.resource.GroupVersionResource == resource.GroupVersionResource && o.name == ref.Name && o.namespace == namespace {
		return stateOf(o), nil
	}
	// The same uid in another namespace is no owner of ours, so the namespace is part of what is remembered.
	memory := fmt.Sprint(ref.UID, "/", namespace, "/", ref.Name)
	if _, ok := c.absent.Get(memory); ok {
		return absent, nil
	}
	live, err := c.Client.Metadata(resource.GroupVersionResource, namespace).Get(ctx, ref.Name)
	switch {
	case apierrors.IsNotFound(err) || err == nil && live.UID != ref.UID:
		c.absent.Add(memory, struct{}{})
		return absent, nil
	case err != nil:
		return 0, fmt.Errorf("looking for %s %s/%s, owner of %s %s/%s: %w", ref.Kind, namespace, ref.Name, n.resource.Kind, n.namespace, n.name, err)
	}
	return stateOf(nodeOf(resource, live)), nil
}

func stateOf(owner *node) ownerState {
	if owner.foreground() {
		return waitsForDependents
	}
	return present
}

// act deletes n, or only takes the references away when an owner is left.
func (c *collector) act(ctx context.Context, n *node, solid bool, gone, waiting []metav1.OwnerReference) error {
	live, err := c.live(ctx, n)
	if err != nil || live == nil {
		return err
	}
	if live.ResourceVersion != n.resourceVersion && !sameOwners(live.OwnerReferences, n.owners) {
		// Decided on references that are no longer those; its event is on the way.
		return apierrors.NewConflict(n.resource.GroupResource(), n.name, fmt.Errorf("its owners changed meanwhile"))
	}
	if solid {
		// An owner that waits is let go as well: what another still needs must not block it.
		return c.removeOwners(ctx, n, live, append(gone, waiting...))
	}
	policy := metav1.DeletePropagationBackground
	dependents := c.graph.dependentsOf(n.uid)
	switch now := nodeOf(n.resource, live); {
	case len(waiting) > 0 && len(dependents) > 0:
		policy = metav1.DeletePropagationForeground
		for _, d := range dependents {
			if d.foreground() {
				// Owners in a circle, or one that waits for us while we would wait for it.
				if err := c.unblock(ctx, n, live); err != nil {
					return err
				}
				if live, err = c.live(ctx, n); err != nil || live == nil {
					return err
				}
				break
			}
		}
	case now.orphansDependents:
		policy = metav1.DeletePropagationOrphan
	case now.waitsForDependents:
		policy = metav1.DeletePropagationForeground
	}
	err = c.clientOf(n).Delete(ctx, n.name, metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &n.uid, ResourceVersion: &live.ResourceVersion},
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s/%s, whose owners are gone: %w", n.resource.Kind, n.namespace, n.name, err)
	}
	c.Logger.Debug("collected", "kind", n.resource.Kind, "namespace", n.namespace, "name", n.name, "policy", policy)
	return nil
}

// awaitDependents lets n go when nothing that blocks it is left, and sees to it that everything it owns is looked at.
func (c *collector) awaitDependents(ctx context.Context, n *node) (controller.Result, error) {
	if c.blocked(n) {
		return controller.Result{}, nil
	}
	if current, err := c.current(ctx, n); err != nil || !current {
		return controller.Result{After: lagRecheck}, err
	}
	// What the graph has now, it may not have had before current asked.
	if c.blocked(n) {
		return controller.Result{}, nil
	}
	return controller.Result{}, c.removeFinalizer(ctx, n, metav1.FinalizerDeleteDependents)
}

func (c *collector) blocked(n *node) (blocked bool) {
	for _, d := range c.graph.dependentsOf(n.uid) {
		if !d.deleting {
			c.queue.Enqueue(string(d.uid), informer.Cause{})
		}
		blocked = blocked || d.blocks(n.uid)
	}
	return blocked
}

// orphan takes n out of the references of all that it owns, then lets it go.
func (c *collector) orphan(ctx context.Context, n *node) (controller.Result, error) {
	if current, err := c.current(ctx, n); err != nil || !current {
		return controller.Result{After: lagRecheck}, err
	}
	for _, d := range c.graph.dependentsOf(n.uid) {
		live, err := c.live(ctx, d)
		if err != nil {
			return controller.Result{}, err
		}
		if live == nil {
			continue
		}
		if err := c.removeOwners(ctx, d, live, []metav1.OwnerReference{{UID: n.uid}}); err != nil {
			return controller.Result{}, err
		}
	}
	return controller.Result{}, c.removeFinalizer(ctx, n, metav1.FinalizerOrphanDependents)
}

// current tells whether the graph has all that n owns. The watches of different resources are not in step, so the one that shows n being deleted
// may be ahead of the one that shows a dependent made before. The api is asked for those resources that n's kind is known to own.
func (c *collector) current(ctx context.Context, n *node) (bool, error) {
	for _, r := range c.graph.ownedBy(n) {
		list, err := c.Client.Metadata(r.GroupVersionResource, n.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, fmt.Errorf("listing %s, of which %s %s/%s may own some: %w", r.Resource, n.resource.Kind, n.namespace, n.name, err)
		}
		for i := range list.Items {
			d := nodeOf(r, &list.Items[i])
			if !d.names(n.uid) {
				continue
			}
			if known, ok := c.graph.get(d.uid); !ok || !known.names(n.uid) {
				return false, nil
			}
		}
	}
	return true, nil
}

func (c *collector) clientOf(n *node) apiclient.Metadata {
	return c.Client.Metadata(n.resource.GroupVersionResource, n.namespace)
}
