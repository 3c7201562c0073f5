package endpoint_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkPodLife is what the api does for a pod without the network: create, bind, a status, delete.
func BenchmarkPodLife(b *testing.B) {
	a := newAPI(b)
	pods := a.of("pods")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		name := fmt.Sprint("p", i)
		a.create("pods", "default", newPod(name))
		if _, err := pods.CreateSubresource(a.ctx, "default", name, "binding", &corev1.Binding{Target: corev1.ObjectReference{Name: "n1"}}, metav1.CreateOptions{}); err != nil {
			b.Fatal(err)
		}
		p := a.pod(name).DeepCopy()
		p.Status.Phase = corev1.PodRunning
		if _, _, err := pods.Update(a.ctx, "default", name, "status", p, metav1.UpdateOptions{}); err != nil {
			b.Fatal(err)
		}
		if _, _, err := pods.Delete(a.ctx, "default", name, metav1.DeleteOptions{GracePeriodSeconds: pointer(int64(0))}); err != nil {
			b.Fatal(err)
		}
	}
}
