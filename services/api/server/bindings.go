package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/endpoint"
	"github.com/orrery-io/orrery/services/api/object"
)

// Bindings answers the create of a Binding outside of its pod's path: it is the same as pods/binding of the pod that the
// Binding is named after.
func Bindings(pods endpoint.Interface) Answerer {
	return func(ctx context.Context, namespace string, obj object.Object, options metav1.CreateOptions) (object.Object, error) {
		if obj.GetName() == "" {
			return nil, errNameRequired
		}
		_, err := pods.CreateSubresource(ctx, namespace, obj.GetName(), "binding", obj, options)
		return nil, err
	}
}
