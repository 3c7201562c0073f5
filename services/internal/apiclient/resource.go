package apiclient

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/internal/apistatus"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/wire"
)

// Object is what every kind of k8s.io/api is, as a pointer.
type Object interface {
	metav1.Object
	runtime.Object
	Size() int
	Marshal() ([]byte, error)
	MarshalToSizedBuffer([]byte) (int, error)
	Unmarshal([]byte) error
}

// List is a list type of k8s.io/api, as a pointer.
type List interface {
	metav1.ListInterface
	runtime.Object
	Unmarshal([]byte) error
}

// Resource is the verbs of one kind, in one namespace ("" is all namespaces, or none for cluster-scoped kinds). All errors
// are *apierrors.StatusError or the context's.
type Resource[T Object, L List] struct {
	conn      grpc.ClientConnInterface
	kind      kinds.Kind
	namespace string
	newObject func() T
	newList   func() L
}

// resource builds the client of a kind from its Go types: resource[corev1.Pod, corev1.PodList](...).
func resource[E, LE any, T interface {
	*E
	Object
}, L interface {
	*LE
	List
}](c *Client, group, plural, namespace string, version ...string) Resource[T, L] {
	v := "v1"
	if len(version) > 0 {
		v = version[0]
	}
	kind, ok := kinds.ByResource(group, v, plural)
	if !ok {
		panic(fmt.Sprintf("apiclient: no kind %s in %s/%s", plural, group, v))
	}
	return Resource[T, L]{conn: c.conn, kind: kind, namespace: namespace,
		newObject: func() T { return new(E) }, newList: func() L { return new(LE) }}
}

// Kind is the resource's kind.
func (r Resource[T, L]) Kind() kinds.Kind { return r.kind }

// Get reads one object, with every write that was acknowledged before.
func (r Resource[T, L]) Get(ctx context.Context, name string) (T, error) {
	return r.call(ctx, "Get", &wire.GetRequest{Namespace: r.namespace, Name: name})
}

// List reads the selected objects.
func (r Resource[T, L]) List(ctx context.Context, options metav1.ListOptions) (L, error) {
	out := r.newList()
	err := r.conn.Invoke(ctx, r.path("List"), &wire.ListRequest{Namespace: r.namespace, Options: options}, out)
	return out, apistatus.FromGRPC(err)
}

// ListAll is List with the items as a slice and the list's resourceVersion.
func (r Resource[T, L]) ListAll(ctx context.Context, options metav1.ListOptions) ([]T, string, error) {
	list, err := r.List(ctx, options)
	if err != nil {
		return nil, "", err
	}
	items := make([]T, 0, meta.LenList(list))
	err = meta.EachListItem(list, func(o runtime.Object) error {
		items = append(items, o.(T))
		return nil
	})
	return items, list.GetResourceVersion(), err
}

// Create stores a new object and returns it as stored.
func (r Resource[T, L]) Create(ctx context.Context, obj T) (T, error) {
	data, err := obj.Marshal()
	if err != nil {
		var none T
		return none, fmt.Errorf("encoding %s: %w", r.kind.Kind, err)
	}
	return r.call(ctx, "Create", &wire.CreateRequest{Namespace: r.namespaceOf(obj), Object: data})
}

// Update replaces an object; its resourceVersion guards against overwriting somebody else's change (409 Conflict).
func (r Resource[T, L]) Update(ctx context.Context, obj T) (T, error) {
	return r.update(ctx, "Update", obj)
}

// UpdateStatus replaces an object's status alone.
func (r Resource[T, L]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return r.update(ctx, "UpdateStatus", obj)
}

func (r Resource[T, L]) update(ctx context.Context, method string, obj T) (T, error) {
	data, err := obj.Marshal()
	if err != nil {
		var none T
		return none, fmt.Errorf("encoding %s %s: %w", r.kind.Kind, obj.GetName(), err)
	}
	return r.call(ctx, method, &wire.UpdateRequest{Namespace: r.namespaceOf(obj), Object: data})
}

// Patch changes an object or one of its subresources.
func (r Resource[T, L]) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, subresource string) (T, error) {
	return r.call(ctx, "Patch", &wire.PatchRequest{Namespace: r.namespace, Name: name, Type: patchTypes[kind], Patch: patch, Subresource: subresource})
}

var patchTypes = map[types.PatchType]wire.PatchType{
	types.JSONPatchType: wire.PatchJSON, types.MergePatchType: wire.PatchMerge,
	types.StrategicMergePatchType: wire.PatchStrategicMerge, types.ApplyYAMLPatchType: wire.PatchApply,
}

// Delete deletes one object.
func (r Resource[T, L]) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	err := r.conn.Invoke(ctx, r.path("Delete"), &wire.DeleteRequest{Namespace: r.namespace, Name: name, Options: options}, &metav1.Status{})
	return apistatus.FromGRPC(err)
}

// DeleteCollection deletes the selected objects.
func (r Resource[T, L]) DeleteCollection(ctx context.Context, options metav1.DeleteOptions, list metav1.ListOptions) error {
	err := r.conn.Invoke(ctx, r.path("DeleteCollection"), &wire.DeleteCollectionRequest{Namespace: r.namespace, Options: options, ListOptions: list}, &metav1.Status{})
	return apistatus.FromGRPC(err)
}

func (r Resource[T, L]) call(ctx context.Context, method string, request any) (T, error) {
	out := r.newObject()
	err := r.conn.Invoke(ctx, r.path(method), request, out)
	if err != nil {
		var none T
		return none, apistatus.FromGRPC(err)
	}
	return out, nil
}

func (r Resource[T, L]) path(method string) string { return "/" + r.kind.Service + "/" + method }

func (r Resource[T, L]) namespaceOf(obj T) string {
	if r.namespace == "" {
		return obj.GetNamespace()
	}
	return r.namespace
}
