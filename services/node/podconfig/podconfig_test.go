package podconfig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "1", "B": "$(A)"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	for in, want := range map[string]string{
		"": "", "plain": "plain", "$(A)": "1", "x$(A)y$(A)z": "x1y1z", "$$(A)": "$(A)", "$$$(A)": "$1", "$(B)": "$(A)", "$(NONE)": "$(NONE)", "$(A": "$(A", "$": "$", "a$": "a$",
		"$A": "$A", "$()": "$()", "$$": "$", "$(A)$(": "1$(",
	} {
		if got := Expand(in, lookup); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("$(A) $$ $(")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Expand(s, func(string) (string, bool) { return "", false }); len(got) > len(s) {
			t.Errorf("%q grew to %q", s, got)
		}
	})
}

type sources struct{}

func (sources) ConfigMap(_ context.Context, _, name string) (*corev1.ConfigMap, error) {
	if name == "cm" {
		return &corev1.ConfigMap{Data: map[string]string{"k": "v", "l": "w"}}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, name)
}

func (sources) Secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, name)
}

func TestEnvironment(t *testing.T) {
	yes := true
	host := Host{NodeName: "n", NodeIPs: []string{"192.0.2.1"}, Allocatable: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "d", Labels: map[string]string{"app": "web"}}}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	container := &corev1.Container{Name: "c",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}},
		EnvFrom:   []corev1.EnvFromSource{{Prefix: "X_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}, {SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Optional: &yes}}},
		Env: []corev1.EnvVar{
			{Name: "NAME", ValueFrom: field("metadata.name")}, {Name: "APP", ValueFrom: field("metadata.labels['app']")}, {Name: "IP", ValueFrom: field("status.podIP")},
			{Name: "HOST", ValueFrom: field("status.hostIP")}, {Name: "TEXT", Value: "$(NAME)-$(X_k)-$(LATER)"}, {Name: "LATER", Value: "1"},
			{Name: "CPU", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "requests.cpu"}}},
			{Name: "MEMORY", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}}},
			{Name: "KEY", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "k"}}},
			{Name: "GONE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "none"}, Key: "k", Optional: &yes}}},
		}}
	env, err := host.environment(t.Context(), sources{}, pod, container, []string{"10.0.0.5"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, kv := range env.list() {
		got = append(got, kv.Key+"="+string(kv.Value))
	}
	want := "X_k=v X_l=w NAME=p APP=web IP=10.0.0.5 HOST=192.0.2.1 TEXT=p-v-$(LATER) LATER=1 CPU=2 MEMORY=1024 KEY=v"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
	container.Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "none"}}}}
	if _, err := host.environment(t.Context(), sources{}, pod, container, nil); err == nil || err.Error() != "couldn't find key none in ConfigMap d/cm" {
		t.Errorf("missing key: %v", err)
	}
}

func TestRunAsNonRootIsChecked(t *testing.T) {
	yes, zero, user := true, int64(0), int64(1000)
	root, named, numbered := &runtimeapi.Image{}, &runtimeapi.Image{Username: "web"}, &runtimeapi.Image{Uid: &runtimeapi.Int64Value{Value: 5}}
	tests := []struct {
		runAs *int64
		image *runtimeapi.Image
		want  string
	}{
		{nil, root, "container has runAsNonRoot and image will run as root"},
		{nil, named, "image has non-numeric user (web)"},
		{nil, numbered, ""},
		{&zero, numbered, "container's runAsUser breaks non-root policy"},
		{&user, root, ""},
	}
	for _, test := range tests {
		c := &corev1.Container{Name: "c", SecurityContext: &corev1.SecurityContext{RunAsNonRoot: &yes, RunAsUser: test.runAs}}
		_, err := containerSecurity(&corev1.Pod{}, c, test.image)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

func TestSubPathStaysInItsVolume(t *testing.T) {
	volume := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(volume, "out")); err != nil {
		t.Fatal(err)
	}
	if path, err := subPath(volume, "a/b"); err != nil || !strings.HasSuffix(path, "/a/b") {
		t.Errorf("a/b: %q, %v", path, err)
	}
	for _, bad := range []string{"out", "out/passwd", "../x", "a/../../x"} {
		if path, err := subPath(volume, bad); err == nil {
			t.Errorf("%s led to %s", bad, path)
		}
	}
}

func TestCPUShares(t *testing.T) {
	for milli, want := range map[int64]int64{0: 2, 1: 2, 100: 102, 1000: 1024} {
		if got := CPUShares(milli); got != want {
			t.Errorf("%dm: %d shares, want %d", milli, got, want)
		}
	}
	for milli, want := range map[int64]int64{0: 0, 1: 1000, 500: 50000} {
		if got := CPUQuota(milli); got != want {
			t.Errorf("%dm: quota %d, want %d", milli, got, want)
		}
	}
}
