// Package defaultbinder binds a pod by its binding subresource; the api's optimistic concurrency has the last word.
package defaultbinder

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/scheduler/framework"
)

// Plugin is DefaultBinder.
type Plugin struct{ Client *apiclient.Client }

// Name of the plugin.
func (Plugin) Name() string { return "DefaultBinder" }

// Bind posts the binding; the uid keeps it from binding another pod of the same name.
func (p Plugin) Bind(ctx context.Context, _ *framework.CycleState, pod *corev1.Pod, node string) *framework.Status {
	err := p.Client.Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: node},
	})
	if err != nil {
		return framework.AsStatus(err)
	}
	return nil
}
