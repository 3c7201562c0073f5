package garbagecollector

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

// node is what the graph knows about an object. It is replaced, never changed.
type node struct {
	resource        apiclient.APIResource
	namespace, name string
	uid             types.UID
	resourceVersion string
	owners          []metav1.OwnerReference
	deleting        bool
	// waitsForDependents and orphansDependents are the finalizers of foreground and orphan deletion.
	waitsForDependents, orphansDependents bool
}

func nodeOf(resource apiclient.APIResource, obj *metav1.PartialObjectMetadata) *node {
	return &node{
		resource: resource, namespace: obj.Namespace, name: obj.Name, uid: obj.UID, resourceVersion: obj.ResourceVersion,
		owners: obj.OwnerReferences, deleting: obj.DeletionTimestamp != nil,
		waitsForDependents: slices.Contains(obj.Finalizers, metav1.FinalizerDeleteDependents),
		orphansDependents:  slices.Contains(obj.Finalizers, metav1.FinalizerOrphanDependents),
	}
}

// foreground tells whether the object is being deleted and waits for what it owns.
func (n *node) foreground() bool { return n.deleting && n.waitsForDependents }

// names tells whether the object names owner as one of its owners.
func (n *node) names(owner types.UID) bool {
	return slices.ContainsFunc(n.owners, func(r metav1.OwnerReference) bool { return r.UID == owner })
}

// blocks tells whether the object keeps its owner from going in a foreground deletion.
func (n *node) blocks(owner types.UID) bool {
	return slices.ContainsFunc(n.owners, func(r metav1.OwnerReference) bool {
		return r.UID == owner && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
	})
}

// graph is all objects and who owns whom. An owner need not be in it: references alone make edges.
type graph struct {
	mu         sync.RWMutex
	nodes      map[types.UID]*node
	dependents map[types.UID]map[types.UID]struct{}
	// owned is which resources have ever been owned by objects of a kind: pods by ReplicaSets.
	owned map[schema.GroupKind]map[schema.GroupVersionResource]apiclient.APIResource
}

func newGraph() *graph {
	return &graph{
		nodes: map[types.UID]*node{}, dependents: map[types.UID]map[types.UID]struct{}{},
		owned: map[schema.GroupKind]map[schema.GroupVersionResource]apiclient.APIResource{},
	}
}

func (g *graph) get(uid types.UID) (*node, bool) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	n, ok := g.nodes[uid]
	return n, ok
}

// dependentsOf are the objects that name uid as an owner.
func (g *graph) dependentsOf(uid types.UID) []*node {
	g.mu.RLock()
	defer g.mu.RUnlock()
	var out []*node
	for d := range g.dependents[uid] {
		if n, ok := g.nodes[d]; ok {
			out = append(out, n)
		}
	}
	return out
}

// ownedBy are the resources that objects of n's kind are known to own.
func (g *graph) ownedBy(n *node) []apiclient.APIResource {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return slices.Collect(maps.Values(g.owned[schema.GroupKind{Group: n.resource.Group, Kind: n.resource.Kind}]))
}

// set puts an object's present state in and returns the objects to look at because of it.
func (g *graph) set(n *node) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	old := g.nodes[n.uid]
	g.nodes[n.uid] = n
	if old != nil && old.deleting == n.deleting && old.waitsForDependents == n.waitsForDependents &&
		old.orphansDependents == n.orphansDependents && equality.Semantic.DeepEqual(old.owners, n.owners) {
		return nil
	}
	var look []types.UID
	if old != nil {
		g.unlink(old)
		// An owner that waits may now have one less to wait for.
		look = g.waitingOwners(old)
	}
	for _, r := range n.owners {
		if g.dependents[r.UID] == nil {
			g.dependents[r.UID] = map[types.UID]struct{}{}
		}
		g.dependents[r.UID][n.uid] = struct{}{}
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
		if g.owned[kind] == nil {
			g.owned[kind] = map[schema.GroupVersionResource]apiclient.APIResource{}
		}
		g.owned[kind][n.resource.GroupVersionResource] = n.resource
	}
	if len(n.owners) > 0 || n.deleting && (n.waitsForDependents || n.orphansDependents) {
		look = append(look, n.uid)
	}
	if n.foreground() {
		look = append(look, slices.Collect(maps.Keys(g.dependents[n.uid]))...)
	}
	return look
}

// remove takes an object out and returns the objects to look at because of it: what it owned, and owners that waited for it.
func (g *graph) remove(uid types.UID) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	n, ok := g.nodes[uid]
	if !ok {
		return nil
	}
	delete(g.nodes, uid)
	g.unlink(n)
	return append(slices.Collect(maps.Keys(g.dependents[uid])), g.waitingOwners(n)...)
}

func (g *graph) unlink(n *node) {
	for _, r := range n.owners {
		delete(g.dependents[r.UID], n.uid)
		if len(g.dependents[r.UID]) == 0 {
			delete(g.dependents, r.UID)
		}
	}
}

func (g *graph) waitingOwners(n *node) []types.UID {
	var out []types.UID
	for _, r := range n.owners {
		if o, ok := g.nodes[r.UID]; ok && o.foreground() {
			out = append(out, r.UID)
		}
	}
	return out
}
