package registry

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// BenchmarkNewPod is what the registry adds to the creation of a pod.
func BenchmarkNewPod(b *testing.B) {
	var k *Kind
	for _, k = range All() {
		if k.Plural == "pods" {
			break
		}
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal([]byte(`
metadata: {name: web, namespace: default, labels: {app: web}}
spec:
  containers: [{name: nginx, image: "nginx:1.27", ports: [{containerPort: 80}], resources: {requests: {cpu: 100m, memory: 64Mi}}, readinessProbe: {httpGet: {port: 80}}, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, emptyDir: {}}]
`), &pod); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		obj := pod.DeepCopy()
		k.Default(obj)
		k.PrepareCreate(ctx, obj)
		if errs := k.Validate(ctx, obj); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
