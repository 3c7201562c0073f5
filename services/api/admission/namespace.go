package admission

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Namespaces finds a namespace.
type Namespaces interface {
	// Cached may be out of date, nil when the cache has none; Current reads the store.
	Cached(name string) *corev1.Namespace
	Current(ctx context.Context, name string) (*corev1.Namespace, error)
}

// immortal are the namespaces without which a cluster does not work.
var immortal = sets.New(metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic)

// NamespaceLifecycle refuses new objects in namespaces that do not exist or are going away, and keeps the immortal
// namespaces from being deleted.
type NamespaceLifecycle struct{ namespaces Namespaces }

// NewNamespaceLifecycle makes the plugin.
func NewNamespaceLifecycle(n Namespaces) *NamespaceLifecycle { return &NamespaceLifecycle{n} }

// Name implements Plugin.
func (*NamespaceLifecycle) Name() string { return "NamespaceLifecycle" }

// Handles implements Plugin.
func (*NamespaceLifecycle) Handles(Operation) bool { return true }

// Mutate implements Mutating: it changes nothing, but a missing namespace has to be told before what is wrong with the
// object.
func (l *NamespaceLifecycle) Mutate(ctx context.Context, a *Attributes) error {
	if a.Kind.Group == "" && a.Kind.Plural == "namespaces" {
		if a.Operation == Delete && immortal.Has(a.Name) {
			return a.Forbid(errors.New("this namespace may not be deleted"))
		}
		return nil
	}
	if a.Namespace == "" || a.Operation == Delete {
		return nil
	}
	ns := l.namespaces.Cached(a.Namespace)
	if ns == nil {
		// It may just have been made.
		var err error
		if ns, err = l.namespaces.Current(ctx, a.Namespace); err != nil {
			return err
		}
	}
	if ns == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, a.Namespace)
	}
	if a.Operation != Create || ns.Status.Phase != corev1.NamespaceTerminating {
		return nil
	}
	err := a.Forbid(fmt.Errorf("unable to create new content in namespace %s because it is being terminated", a.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type:    corev1.NamespaceTerminatingCause,
		Message: fmt.Sprintf("namespace %s is being terminated", a.Namespace),
		Field:   "metadata.namespace",
	})
	return err
}
