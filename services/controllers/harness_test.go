package controllers

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"github.com/orrery-io/orrery/services/internal/apiclient"
	"github.com/orrery-io/orrery/services/internal/apiclient/apitest"
)

// cluster is an api in memory with controllers that run against it.
type cluster struct {
	t      *testing.T
	ctx    context.Context
	server *apitest.Server
	client *apiclient.Client
	grace  time.Duration // Config.NodeMonitorGracePeriod
}

// patience bounds a test that would wait for ever; no test depends on its length.
const patience = 30 * time.Second

func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	server := apitest.New(clock.RealClock{})
	c := &cluster{t: t, ctx: ctx, server: server, client: server.Client()}
	return c
}

// run starts controllers; stop ends them and waits.
func (c *cluster) run(enabled ...string) (stop func()) {
	c.t.Helper()
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	if testing.Verbose() {
		logger = slog.New(slog.NewTextHandler(c.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	s, err := New(Config{Enabled: enabled, Logger: logger, RootCA: []byte("PEM"), NodeMonitorGracePeriod: c.grace})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.ctx)
	done := make(chan error, 1)
	go func() { done <- s.lead(ctx, c.client) }()
	select {
	case <-s.Ready():
	case err := <-done:
		c.t.Fatalf("the controllers ended: %v", err)
	case <-c.ctx.Done():
		c.t.Fatal("the controllers did not become ready")
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-done
		}
	}
	c.t.Cleanup(stop)
	return stop
}

// until waits for a condition that changes of objects bring about.
func (c *cluster) until(what string, condition func() bool) {
	c.t.Helper()
	if err := c.server.Eventually(c.ctx, condition); err != nil {
		c.t.Fatalf("waiting until %s: %v", what, err)
	}
}

// kubelet stands in for scheduler and node: every pod is bound, gets an address and becomes ready; one that is deleted ends.
func (c *cluster) kubelet() {
	w, err := c.client.Pods("").Watch(c.ctx, metav1.ListOptions{SendInitialEvents: ptr.To(true)})
	if err != nil {
		c.t.Fatal(err)
	}
	go func() {
		for n := 1; ; n++ {
			event, err := w.Recv()
			if err != nil {
				return
			}
			pod := event.Object
			switch {
			case event.Type == watch.Bookmark || event.Type == watch.Deleted:
			case pod.DeletionTimestamp != nil:
				_ = c.client.Pods(pod.Namespace).Delete(c.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			case pod.Spec.NodeName == "":
				pod.Spec.NodeName = fmt.Sprintf("node-%d", n%3)
				_, _ = c.client.Pods(pod.Namespace).Update(c.ctx, pod)
			case pod.Status.Phase != corev1.PodRunning:
				pod.Status = corev1.PodStatus{
					Phase: corev1.PodRunning, PodIP: fmt.Sprintf("10.0.%d.%d", n/250, n%250+1),
					Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}},
				}
				_, _ = c.client.Pods(pod.Namespace).UpdateStatus(c.ctx, pod)
			}
		}
	}()
}

func (c *cluster) pods(keep func(*corev1.Pod) bool) []*corev1.Pod {
	c.t.Helper()
	all, _, err := c.client.Pods("").ListAll(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var out []*corev1.Pod
	for _, p := range all {
		if keep == nil || keep(p) {
			out = append(out, p)
		}
	}
	return out
}

func (c *cluster) replicaSets() []*appsv1.ReplicaSet {
	c.t.Helper()
	all, _, err := c.client.ReplicaSets("").ListAll(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return all
}

func (c *cluster) deployment(name string) *appsv1.Deployment {
	c.t.Helper()
	d, err := c.client.Deployments("default").Get(c.ctx, name)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// change edits a Deployment as a user would, again if a controller was faster.
func (c *cluster) change(name string, edit func(*appsv1.Deployment)) {
	c.t.Helper()
	for {
		d := c.deployment(name)
		edit(d)
		_, err := c.client.Deployments("default").Update(c.ctx, d)
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			c.t.Fatal(err)
		}
		return
	}
}

func (c *cluster) eventMessages(reason string) []string {
	c.t.Helper()
	all, _, err := c.client.Events("").ListAll(c.ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		if e.Reason == reason {
			out = append(out, e.Message)
		}
	}
	return out
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Image: image, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		}}},
	}
}

func web(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: template("web:1"),
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromString("25%")), MaxUnavailable: ptr.To(intstr.FromString("25%")),
			}},
			RevisionHistoryLimit: ptr.To[int32](10), ProgressDeadlineSeconds: ptr.To[int32](600),
		},
	}
}

func set(replicas int32) *appsv1.ReplicaSet {
	d := web(replicas)
	return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "default"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: d.Spec.Selector, Template: d.Spec.Template}}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
