package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/cluster"
	"github.com/orrery-io/orrery/services/internal/pki"
)

// Every service is stopped and started once in the middle of a rolling update.
func TestRolloutSurvivesRestarts(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	rolloutUnderKills(t, c.Context(2*time.Minute), c.Client(pki.Admin), c.Services(), c.Restart)
}

// Every service's process is killed once, with SIGKILL, in the middle of a rolling update.
func TestRolloutSurvivesKilledProcesses(t *testing.T) {
	p := startProcesses(t)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	t.Cleanup(cancel)
	rolloutUnderKills(t, ctx, p.client(), []string{"store", "api", "gateway", "controllers", "scheduler", "node"}, p.kill)
}

// rolloutUnderKills updates a Deployment once for each service, which goes down when the first new pod is there. Each update converges to exactly the new
// pods; at no event of the watch there are more pods than replicas and maxSurge allow; what other clients wrote meanwhile is all there.
func rolloutUnderKills(t *testing.T, ctx context.Context, client *apiclient.Client, services []string, kill func(service string)) {
	const replicas, maxSurge = 3, 1 // 25% of 3, rounded up
	var worst atomic.Int32
	pods := cluster.Observe(t, client.Pods("default").Resource, func(all []*corev1.Pod) {
		if n := int32(len(live(all))); n > worst.Load() {
			worst.Store(n)
		}
	})
	deployments := cluster.Observe(t, client.Deployments("default"), nil)
	if _, err := client.Deployments("default").Create(ctx, webDeployment(replicas)); err != nil {
		t.Fatal(err)
	}
	rolledOut := func(image string) {
		t.Helper()
		if err := deployments.Await(ctx, "the rollout of "+image, func(all []*appsv1.Deployment) bool {
			return len(all) == 1 && complete(all[0], replicas) && all[0].Spec.Template.Spec.Containers[0].Image == image
		}); err != nil {
			for _, pod := range pods.List() {
				t.Logf("pod %s of %s: %s, deleted %v, %v", pod.Name, pod.Spec.Containers[0].Image, pod.Status.Phase, pod.DeletionTimestamp, pod.Status.Conditions)
			}
			for _, d := range deployments.List() {
				t.Logf("deployment: generation %d, %+v", d.Generation, d.Status)
			}
			t.Fatal(err)
		}
	}
	rolledOut("nginx:1.0")
	finish := writeMeanwhile(t, ctx, client.ConfigMaps("default"))

	for i, service := range services {
		image := fmt.Sprintf("nginx:1.%d", i+1)
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":%q}]}}}}`, image)
		if err := retry(ctx, func() error {
			_, err := client.Deployments("default").Patch(ctx, "web", types.StrategicMergePatchType, []byte(patch), "")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if err := pods.Await(ctx, "the first pod of "+image, func(all []*corev1.Pod) bool {
			return slices.ContainsFunc(all, func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image == image })
		}); err != nil {
			t.Fatal(err)
		}
		started := time.Now()
		kill(service)
		rolledOut(image)
		if err := pods.Await(ctx, "the new pods to be all there is", func(all []*corev1.Pod) bool {
			return len(all) == replicas && !slices.ContainsFunc(all, func(p *corev1.Pod) bool {
				return p.Spec.Containers[0].Image != image || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
			})
		}); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s went down: converged after %v", service, time.Since(started).Round(10*time.Millisecond))
	}
	if n := worst.Load(); n > replicas+maxSurge {
		t.Errorf("there were %d pods at a time, %d replicas and a surge of %d allow %d", n, replicas, maxSurge, replicas+maxSurge)
	}
	finish()
	sets, _, err := client.ReplicaSets("default").ListAll(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(sets) != len(services)+1 {
		t.Errorf("%d ReplicaSets for %d revisions", len(sets), len(services)+1)
	}
}

func webDeployment(replicas int32) *appsv1.Deployment {
	quarter := intstr.FromString("25%")
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
		// A second of readiness before a pod counts: the update takes long enough for something to go wrong in it.
		MinReadySeconds: 1,
		Strategy:        appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers:                    []corev1.Container{{Name: "nginx", Image: "nginx:1.0"}}}},
	}}
}

// live are the pods that count against the surge.
func live(all []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(all), func(p *corev1.Pod) bool {
		return p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
	})
}

// complete is what kubectl rollout status waits for.
func complete(d *appsv1.Deployment, replicas int32) bool {
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.UpdatedReplicas == replicas && s.Replicas == replicas && s.AvailableReplicas == replicas
}

// writeMeanwhile creates ConfigMaps one after the other until the returned function is called, which then checks that all that were acknowledged are there.
func writeMeanwhile(t *testing.T, ctx context.Context, maps apiclient.ConfigMaps) (finish func()) {
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	var acknowledged []string
	group.Go(func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-ticker.C:
			case <-running.Done():
				return
			}
			name := fmt.Sprintf("meanwhile-%d", i)
			if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}); err == nil {
				acknowledged = append(acknowledged, name)
			}
		}
	})
	t.Cleanup(func() { stop(); group.Wait() })
	return func() {
		t.Helper()
		stop()
		group.Wait()
		list, _, err := maps.ListAll(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stored := map[string]bool{}
		for _, m := range list {
			stored[m.Name] = true
		}
		for _, name := range acknowledged {
			if !stored[name] {
				t.Errorf("%s was acknowledged and is not there", name)
			}
		}
		t.Logf("%d writes were acknowledged meanwhile", len(acknowledged))
	}
}

// retry repeats a call that failed because somebody was away.
func retry(ctx context.Context, call func() error) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := call()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return err
		}
	}
}
