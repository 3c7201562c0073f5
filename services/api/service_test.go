package api

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/orrery-io/orrery/services/internal/pki"
)

const podJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx:1.27"}]}}`

func TestPodsThroughEveryFront(t *testing.T) {
	h := start(t)
	admin := h.client(pki.Admin)
	pods := admin.Pods("default")
	w, err := pods.Watch(h.ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()

	r := h.rest(pki.Admin)
	created := r.must("Create", "/api/v1/namespaces/default/pods", "application/json", podJSON)
	if created.code != "201" || created.contentType != "application/json" {
		t.Errorf("create answered %s %s", created.code, created.contentType)
	}
	var pod corev1.Pod
	if err := json.Unmarshal(created.body, &pod); err != nil {
		t.Fatal(err)
	}
	if pod.UID == "" || pod.ResourceVersion == "" || pod.Kind != "Pod" || pod.Spec.RestartPolicy != corev1.RestartPolicyAlways {
		t.Errorf("created %+v", pod)
	}

	e, err := w.Recv()
	if err != nil || e.Type != watch.Added || e.Object.Name != "web" || e.Object.ResourceVersion != pod.ResourceVersion {
		t.Fatalf("typed watch: %+v, %v", e, err)
	}
	typed, err := pods.Get(h.ctx, "web")
	if err != nil || typed.UID != pod.UID {
		t.Fatalf("typed get: %v", err)
	}
	typed.Labels["more"] = "yes"
	if _, err = pods.Update(h.ctx, typed); err != nil {
		t.Fatal(err)
	}
	list := r.must("Get", "/api/v1/namespaces/default/pods?labelSelector=more%3Dyes", "", "")
	if s := string(list.body); !strings.HasPrefix(s, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"`) || !strings.Contains(s, `"items":[{"metadata":{"name":"web"`) || !strings.HasSuffix(s, "]}\n") {
		t.Errorf("list: %s", s)
	}
	deleted := r.must("Delete", "/api/v1/namespaces/default/pods/web?gracePeriodSeconds=0", "", "")
	if !strings.Contains(string(deleted.body), `"kind":"Pod"`) {
		t.Errorf("delete answered %s", deleted.body)
	}
	for _, want := range []watch.EventType{watch.Modified, watch.Deleted} {
		if e, err = w.Recv(); err != nil || e.Type != want {
			t.Fatalf("typed watch: %v %v, want %s", e.Type, err, want)
		}
	}
	if err := h.stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
}
