package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/orrery-io/orrery/services/store/kv"
)

// TestValuesAreDecoded: a built-in kind, a custom one, text and bytes each have their field.
func TestValuesAreDecoded(t *testing.T) {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-0"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	pairs := []kv.KeyValue{
		{Key: []byte("/registry/pods/default/web-0"), Value: append([]byte("k8s\x00"), envelope...), ModRevision: 7, CreateRevision: 5, Version: 2},
		{Key: []byte("/registry/example.com/widgets/default/w"), Value: []byte(`{"kind":"Widget","spec":{"size":3}}`), ModRevision: 8},
		{Key: []byte("/text"), Value: []byte("plain"), ModRevision: 9},
		{Key: []byte("/bytes"), Value: []byte{0xff, 0}, ModRevision: 10},
		{Key: []byte("/broken"), Value: []byte("k8s\x00\xff\xff"), ModRevision: 11},
	}
	printed := func(format string) []byte {
		var out bytes.Buffer
		p, err := newKeyPrinter(&out, format, false)
		if err != nil {
			t.Fatal(err)
		}
		p.begin(20, 5)
		for _, pair := range pairs {
			if err := p.print(pair); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	var got struct {
		Count, Revision int64
		Keys            []struct {
			Key, Text   string
			Bytes       []byte
			ModRevision int64
			Object      map[string]any
		}
	}
	if err := json.Unmarshal(printed("json"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Count != 5 || got.Revision != 20 || len(got.Keys) != 5 {
		t.Fatalf("%+v", got)
	}
	meta, _ := got.Keys[0].Object["metadata"].(map[string]any)
	if got.Keys[0].Object["kind"] != "Pod" || got.Keys[0].Object["apiVersion"] != "v1" || meta["resourceVersion"] != "7" {
		t.Errorf("the pod: %v", got.Keys[0].Object)
	}
	if got.Keys[1].Object["kind"] != "Widget" || got.Keys[2].Text != "plain" || !bytes.Equal(got.Keys[3].Bytes, []byte{0xff, 0}) || len(got.Keys[4].Bytes) == 0 {
		t.Errorf("%+v", got.Keys[1:])
	}
	docs := strings.Split(strings.TrimPrefix(string(printed("yaml")), "---\n"), "---\n")
	var first struct {
		Key    string
		Object corev1.Pod
	}
	if err := yaml.Unmarshal([]byte(docs[0]), &first); err != nil || len(docs) != 5 || first.Object.Spec.NodeName != "node-1" {
		t.Errorf("%d documents, the first is %+v (%v)", len(docs), first, err)
	}
}
