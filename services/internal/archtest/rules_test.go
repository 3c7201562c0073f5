package archtest

import (
	"strings"
	"testing"
)

// TestRepository applies the rules to the repository.
func TestRepository(t *testing.T) {
	files, err := load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 10 {
		t.Fatalf("found %d Go files: the rules look in the wrong place", len(files))
	}
	for _, breach := range check(files) {
		t.Error(breach)
	}
}

// TestRulesBite makes sure that each rule still sees what it is for, and spares what it allows.
func TestRulesBite(t *testing.T) {
	const doc = "// Package p is documented.\n"
	for _, c := range []struct {
		name, path, content string
		want                string // part of the breach, empty when there must be none
	}{
		{"service to service", "services/scheduler/a.go", doc + imports("services/api/endpoint"), "service scheduler must not know service api"},
		{"service to itself", "services/scheduler/a.go", doc + imports("services/scheduler/queue"), ""},
		{"service to shared", "services/scheduler/a.go", doc + imports("services/internal/informer"), ""},
		{"service to gen", "services/node/a.go", doc + imports("gen/go/orrery/node/v1"), ""},
		{"api to store client", "services/api/storage/a.go", doc + imports("services/store/client"), ""},
		{"api to store inside", "services/api/storage/a.go", doc + imports("services/store/mvcc"), "service api must not know service store"},
		{"api's tests to the store in memory", "services/api/storage/a_test.go", imports("services/store/memory"), ""},
		{"api to the store in memory", "services/api/storage/a.go", doc + imports("services/store/memory"), "must not know service store"},
		{"controller to store client", "services/controllers/a.go", doc + imports("services/store/client"), "must not know service store"},
		{"store protocol", "services/api/a.go", doc + imports("gen/go/orrery/store/v1"), "only services/store speaks"},
		{"shared to service", "services/internal/informer/a.go", doc + imports("services/api/endpoint"), "must not know a service"},
		{"test harness", "services/internal/cluster/a.go", doc + imports("services/api/server"), ""},
		{"main", "services/orrery/a.go", doc + imports("services/store/raftnode"), ""},
		{"prefix is not a folder", "services/api/a.go", doc + imports("services/store/clientele"), "must not know service store"},
		{"kubernetes", "services/api/a.go", doc + "package p\nimport _ \"k8s.io/kubernetes/pkg/api\"\n", "the system being built here"},
		{"apiserver", "services/api/a.go", doc + "package p\nimport _ \"k8s.io/apiserver\"\n", "the system being built here"},
		{"impure state machine", "services/store/mvcc/a.go", doc + "package p\nimport _ \"time\"\n", "deterministic"},
		{"no comment", "services/api/a.go", "package p\n", "no package comment"},
		{"utils", "services/api/a.go", doc + "package utils\n", "says nothing"},
		{"too long", "services/api/a.go", doc + "package p\n" + strings.Repeat("//\n", maxLines), "split it"},
		{"generated may be long", "services/api/zz_a.go", doc + "package p\n" + strings.Repeat("//\n", maxLines), ""},
		{"sleep in a test", "services/api/a_test.go", "package p\nimport \"time\"\nfunc f() { time.Sleep(1) }\n", "line 3 calls time.Sleep"},
		{"elsewhere", "pkg/a.go", doc + "package p\n", "Go code lives below services/"},
	} {
		s, err := parse(c.path, []byte(c.content))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := strings.Join(check([]source{s}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func imports(rel string) string { return "package p\nimport _ \"" + module + "/" + rel + "\"\n" }
