package volumes

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orrery-io/orrery/services/node/podconfig"
)

type sources map[string]map[string]string

func (s sources) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	data, ok := s[name]
	if !ok {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
	}
	return &corev1.ConfigMap{Data: data}, nil
}

func (s sources) Secret(context.Context, string, string) (*corev1.Secret, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "x")
}

func TestConfigMapVolumeFollowsItsSource(t *testing.T) {
	source := sources{"settings": {"a": "1", "b": "2"}}
	m := New(podconfig.Host{Dir: t.TempDir()}, source)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", UID: "u"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v",
		VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}}}}
	paths, err := m.Ensure(t.Context(), pod, nil)
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(paths["v"], name))
		if os.IsNotExist(err) {
			return "-"
		}
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if read("a") != "1" || read("b") != "2" {
		t.Errorf("a=%s b=%s", read("a"), read("b"))
	}
	before, _ := os.Readlink(filepath.Join(paths["v"], dataLink))
	if _, err := m.Ensure(t.Context(), pod, nil); err != nil {
		t.Fatal(err)
	}
	if after, _ := os.Readlink(filepath.Join(paths["v"], dataLink)); after != before {
		t.Error("an unchanged source was written again")
	}
	source["settings"] = map[string]string{"a": "3", "c": "4"}
	if _, err := m.Ensure(t.Context(), pod, nil); err != nil {
		t.Fatal(err)
	}
	if read("a") != "3" || read("b") != "-" || read("c") != "4" {
		t.Errorf("after the change: a=%s b=%s c=%s", read("a"), read("b"), read("c"))
	}
	delete(source, "settings")
	if _, err := m.Ensure(t.Context(), pod, nil); err == nil || err.Error() != `MountVolume.SetUp failed for volume "v" : configmaps "settings" not found` {
		t.Errorf("missing source: %v", err)
	}
	if err := m.Remove(pod.UID); err != nil {
		t.Fatal(err)
	}
	if len(m.Pods()) != 0 {
		t.Error("the pod's folder is still there")
	}
}

func TestPayloadNamesStayInside(t *testing.T) {
	for _, name := range []string{"../x", "/etc/passwd", "a/../../x", ".."} {
		if add(map[string]file{}, name, nil, 0o644) == nil {
			t.Errorf("%q was accepted", name)
		}
	}
}

func TestMemoryVolumeIsMountedAndUnmounted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	m := New(podconfig.Host{Dir: t.TempDir()}, sources{})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "m",
		VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}}}}}
	for range 2 { // the second time finds it
		paths, err := m.Ensure(t.Context(), pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !isMount(paths["m"]) {
			t.Fatal("nothing is mounted")
		}
	}
	if err := m.Remove(pod.UID); err != nil {
		t.Fatal(err)
	}
}
