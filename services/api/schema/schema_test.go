package schema

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/orrery-io/orrery/services/api/registry"
)

func serve(t *testing.T, d *Documents, path, accept, etag string) Document {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, found, err := d.Serve(u.Path, u.Query(), accept, etag)
	if err != nil || !found {
		t.Fatalf("%s: found %v, %v", path, found, err)
	}
	return doc
}

func TestDiscovery(t *testing.T) {
	d := New(registry.All())
	var list struct {
		Resources []struct {
			Name, Kind, Group, Version string
			ShortNames                 []string
		}
	}
	if err := json.Unmarshal(serve(t, d, "/api/v1", "", "").Body, &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, r := range list.Resources {
		found[r.Name] = r.Group + "/" + r.Version + " " + r.Kind + " " + strings.Join(r.ShortNames, ",")
	}
	for name, want := range map[string]string{
		"pods": "/ Pod po", "pods/status": "/ Pod ", "pods/eviction": "policy/v1 Eviction ", "nodes": "/ Node no",
		"replicationcontrollers/scale": "autoscaling/v1 Scale ",
	} {
		if found[name] != want {
			t.Errorf("%s: %q, want %q", name, found[name], want)
		}
	}
	var groups struct {
		Groups []struct{ Name, PreferredVersion any }
	}
	if err := json.Unmarshal(serve(t, d, "/apis", "", "").Body, &groups); err != nil || len(groups.Groups) < 15 {
		t.Errorf("%d groups, %v", len(groups.Groups), err)
	}
	if !strings.Contains(string(serve(t, d, "/apis/autoscaling", "", "").Body), `"preferredVersion":{"groupVersion":"autoscaling/v2","version":"v2"}`) {
		t.Error("autoscaling does not prefer v2")
	}
	if _, ok, _ := d.Serve("/apis/nothing.example.com", nil, "", ""); ok {
		t.Error("a group that does not exist was found")
	}
}

func TestAggregatedDiscovery(t *testing.T) {
	d := New(registry.All())
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
	doc := serve(t, d, "/apis", accept, "")
	if doc.ContentType != "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" {
		t.Error("content type", doc.ContentType)
	}
	if !strings.Contains(string(doc.Body), `"resource":"deployments"`) {
		t.Error("no deployments")
	}
	if again := serve(t, d, "/apis", accept, doc.Headers["etag"]); again.Code != http.StatusNotModified || again.Body != nil {
		t.Errorf("a client with the ETag got %d and %d bytes", again.Code, len(again.Body))
	}
	if doc := serve(t, d, "/apis", "application/json", ""); doc.ContentType != "application/json" {
		t.Error("plain discovery as", doc.ContentType)
	}
}

func TestOpenAPI(t *testing.T) {
	d := New(registry.All())
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(serve(t, d, "/openapi/v3", "", "").Body, &index); err != nil {
		t.Fatal(err)
	}
	type operation struct {
		Kind       map[string]string `json:"x-kubernetes-group-version-kind"`
		Parameters []struct{ Name string }
	}
	type document struct {
		Paths       map[string]map[string]json.RawMessage
		Definitions map[string]json.RawMessage
		Components  struct{ Schemas map[string]json.RawMessage }
	}
	for name, entry := range index.Paths {
		doc := serve(t, d, entry.ServerRelativeURL, "application/json", "")
		var v3 document
		if err := json.Unmarshal(doc.Body, &v3); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(v3.Paths) == 0 || len(v3.Components.Schemas) == 0 {
			t.Errorf("%s: %d paths, %d schemas", name, len(v3.Paths), len(v3.Components.Schemas))
		}
		if name != "apis/apps/v1" {
			continue
		}
		var patch operation
		if err := json.Unmarshal(v3.Paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"], &patch); err != nil {
			t.Fatal(err)
		}
		if patch.Kind["kind"] != "Deployment" {
			t.Errorf("patch of a deployment is about %v", patch.Kind)
		}
		names := ""
		for _, p := range patch.Parameters {
			names += p.Name + " "
		}
		if !strings.Contains(names, "fieldValidation") || !strings.Contains(names, "dryRun") {
			t.Errorf("patch takes %s", names)
		}
		schema := string(v3.Components.Schemas["io.k8s.api.apps.v1.Deployment"])
		if !strings.Contains(schema, `"x-kubernetes-group-version-kind":[{"group":"apps","kind":"Deployment","version":"v1"}]`) {
			t.Errorf("schema of Deployment: %.300s", schema)
		}
		if !strings.Contains(string(v3.Components.Schemas["io.k8s.api.core.v1.PodSpec"]), `"x-kubernetes-patch-merge-key":"name"`) {
			t.Error("containers have no merge key")
		}
	}
	var v2 document
	if err := json.Unmarshal(serve(t, d, "/openapi/v2", "application/json", "").Body, &v2); err != nil {
		t.Fatal(err)
	}
	if len(v2.Definitions) < 500 || len(v2.Paths) < 200 {
		t.Errorf("v2 has %d definitions, %d paths", len(v2.Definitions), len(v2.Paths))
	}
	if s := string(v2.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]); !strings.Contains(s, `"type":"string"`) || strings.Contains(s, "oneOf") {
		t.Errorf("IntOrString in v2: %s", s)
	}
	if doc := serve(t, d, "/openapi/v2", protoV2, ""); doc.ContentType != protoV2 || len(doc.Body) < 1<<18 {
		t.Errorf("v2 as protobuf: %s, %d bytes", doc.ContentType, len(doc.Body))
	}
	if doc := serve(t, d, "/openapi/v3/apis/apps/v1?hash=OLD", "application/json", ""); doc.Code != http.StatusMovedPermanently {
		t.Errorf("an old hash got %d", doc.Code)
	}
}
