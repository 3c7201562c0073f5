package endpoint_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orrery-io/orrery/services/api/warning"
)

func TestPatch(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  types.PatchType
		patch string
		code  int32
		text  string // in the message
		check func(*corev1.Pod) bool
	}{
		{"merge", types.MergePatchType, `{"metadata":{"labels":{"a":"b"}}}`, 0, "", func(p *corev1.Pod) bool { return p.Labels["a"] == "b" && p.Labels["app"] == "web" }},
		{"merge removes by null", types.MergePatchType, `{"metadata":{"labels":{"app":null}}}`, 0, "", func(p *corev1.Pod) bool { return len(p.Labels) == 0 }},
		{"strategic merges lists by key", types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"c","image":"nginx:1.28"}]}}`, 0, "",
			func(p *corev1.Pod) bool {
				return len(p.Spec.Containers) == 1 && p.Spec.Containers[0].Image == "nginx:1.28" && p.Generation == 2
			}},
		{"json", types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/app","value":"web"},{"op":"add","path":"/metadata/labels/x~1y","value":"z"}]`, 0, "",
			func(p *corev1.Pod) bool { return p.Labels["x/y"] == "z" }},
		{"json test fails", types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/app","value":"other"}]`, 422, "the server rejected our request due to an error in our request", nil},
		{"json path missing", types.JSONPatchType, `[{"op":"remove","path":"/metadata/labels/none"}]`, 422, "", nil},
		{"json malformed", types.JSONPatchType, `[{"op":`, 400, "error decoding patch", nil},
		{"merge malformed", types.MergePatchType, `{`, 400, "error decoding patch", nil},
		{"merge is no object", types.MergePatchType, `[]`, 400, "error decoding patch", nil},
		{"json too long", types.JSONPatchType, `[` + strings.Repeat(`{"op":"test","path":"/kind","value":"Pod"},`, 10000) + `{"op":"test","path":"/kind","value":"Pod"}]`, 413,
			"The allowed maximum operations in a JSON patch is 10000, got 10001", nil},
		{"wrong type", types.MergePatchType, `{"spec":{"containers":"none"}}`, 422, "cannot unmarshal string", nil},
		{"wrong type, strategic", types.StrategicMergePatchType, `{"spec":{"activeDeadlineSeconds":"soon"}}`, 422, "", nil},
		{"unknown field", types.MergePatchType, `{"spec":{"foo":1}}`, 422, `strict decoding error: unknown field "spec.foo"`, nil},
		{"unknown field, strategic", types.StrategicMergePatchType, `{"spec":{"foo":1}}`, 422, `strict decoding error: unknown field "spec.foo"`, nil},
		{"duplicate field", types.MergePatchType, `{"metadata":{"labels":{"a":"1","a":"2"}}}`, 422, `strict decoding error: duplicate field "metadata.labels.a"`, nil},
		{"stale version", types.MergePatchType, `{"metadata":{"resourceVersion":"1"}}`, 409, "the object has been modified", nil},
		{"other name", types.MergePatchType, `{"metadata":{"name":"q"}}`, 400, "the name of the object (q) does not match the name on the URL (p)", nil},
		{"immutable", types.MergePatchType, `{"metadata":{"creationTimestamp":"2020-01-01T00:00:00Z"}}`, 0, "", func(p *corev1.Pod) bool { return p.CreationTimestamp.Time.Equal(start) }},
		{"apply is for later", types.ApplyYAMLPatchType, `{}`, 415, "application/strategic-merge-patch+json", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAPI(t)
			p := newPod("p")
			p.Labels = map[string]string{"app": "web"}
			before := a.create("pods", "default", p)
			_, _, err := a.of("pods").Patch(a.ctx, "default", "p", "", c.kind, []byte(c.patch), metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
			if c.code != 0 {
				status := statusOf(t, err)
				if status.Code != c.code || !strings.Contains(status.Message, c.text) {
					t.Fatalf("got %d %q, want %d with %q", status.Code, status.Message, c.code, c.text)
				}
				if a.get("pods", "default", "p").Revision != before.Revision {
					t.Error("a refused patch wrote")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := a.pod("p"); !c.check(got) {
				t.Errorf("patched to %+v", got)
			}
		})
	}
}

func statusOf(t *testing.T, err error) metav1.Status {
	t.Helper()
	s, ok := err.(interface{ Status() metav1.Status })
	if !ok {
		t.Fatalf("error %v (%T), want a status", err, err)
	}
	return s.Status()
}

func TestUnknownFieldsWarn(t *testing.T) {
	a := newAPI(t)
	a.create("pods", "default", newPod("p"))
	for _, kind := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType} {
		ctx, warnings := warning.WithRecorder(a.ctx)
		_, _, err := a.of("pods").Patch(ctx, "default", "p", "", kind, []byte(`{"spec":{"foo":1}}`), metav1.PatchOptions{FieldValidation: metav1.FieldValidationWarn})
		if err != nil || strings.Join(warnings.Headers(), ";") != `299 - "unknown field \"spec.foo\""` {
			t.Errorf("%s: warnings %q, %v", kind, warnings.Headers(), err)
		}
	}
}

// Every patch without a resourceVersion gets in, however many race.
func TestPatchesRace(t *testing.T) {
	a := newAPI(t)
	a.create("configmaps", "default", newConfigMap("x"))
	const n = 32
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			_, _, err := a.of("configmaps").Patch(a.ctx, "default", "x", "", types.MergePatchType, []byte(`{"data":{"k`+fmt.Sprint(i)+`":"v"}}`), metav1.PatchOptions{})
			if err != nil {
				t.Errorf("patch %d: %v", i, err)
			}
		})
	}
	group.Wait()
	if got := a.get("configmaps", "default", "x").Object.(*corev1.ConfigMap); len(got.Data) != n+1 {
		t.Errorf("%d keys, want %d", len(got.Data), n+1)
	}
}

func FuzzPatch(f *testing.F) {
	for _, seed := range []string{
		`{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}`, `{"metadata":{"$retainKeys":["labels"],"labels":{}}}`,
		`{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"d","image":"x"}]}}`, `[{"op":"copy","from":"","path":"/spec/a"}]`,
		`[{"op":"add","path":"/spec/containers/-","value":null}]`, `[{"op":"move","from":"/metadata","path":"/spec"}]`, `{"spec":null}`, `null`,
		`{"$deleteFromPrimitiveList/finalizers":["a"]}`, `[{"op":"replace","path":"","value":3}]`, `{"metadata":{"name":null,"uid":5}}`,
	} {
		for kind := range 3 {
			f.Add(seed, kind)
		}
	}
	a := newAPI(f)
	a.create("pods", "default", newPod("p"))
	pods := a.of("pods")
	kinds := []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType}
	f.Fuzz(func(t *testing.T, patch string, kind int) {
		_, _, err := pods.Patch(a.ctx, "default", "p", "", kinds[uint(kind)%3], []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			if s := statusOf(t, err); s.Code < 400 || s.Code >= 500 {
				t.Errorf("%s of %q: %d %s", kinds[uint(kind)%3], patch, s.Code, s.Message)
			}
		}
	})
}

func FuzzSelectors(f *testing.F) {
	for _, s := range []string{"a=b", "a in (b,c)", "!a", "spec.nodeName=n1", "metadata.name!=x,status.phase=Running", "a=b=c", "\\", "metadata.namespace==default"} {
		f.Add(s, s, "")
	}
	f.Add("", "", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJ4In0")
	a := newAPI(f)
	a.create("pods", "default", newPod("p"))
	pods := a.of("pods")
	f.Fuzz(func(t *testing.T, label, field, token string) {
		_, err := pods.List(a.ctx, "", metav1.ListOptions{LabelSelector: label, FieldSelector: field, Continue: token, Limit: 1})
		if err != nil {
			if s := statusOf(t, err); s.Code < 400 || s.Code >= 500 {
				t.Errorf("%q %q %q: %d %s", label, field, token, s.Code, s.Message)
			}
		}
	})
}
