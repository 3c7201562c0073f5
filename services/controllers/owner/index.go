package owner

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/informer"
)

// ByController is the index of objects by the uid of their controller, and of those without one by Orphans(namespace).
const ByController = "controller"

// Orphans is the value under which ByController has a namespace's objects without a controller.
func Orphans(namespace string) string { return "orphans in " + namespace }

// Index is the function of the index ByController.
func Index[T apiclient.Object](obj T) []string {
	if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		return []string{string(ref.UID)}
	}
	return []string{Orphans(obj.GetNamespace())}
}

// Candidates are the objects that owner has or may adopt.
func Candidates[T apiclient.Object](objects *informer.Informer[T], owner metav1.Object) []T {
	return append(objects.ByIndex(ByController, string(owner.GetUID())), objects.ByIndex(ByController, Orphans(owner.GetNamespace()))...)
}
