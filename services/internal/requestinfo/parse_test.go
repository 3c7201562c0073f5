package requestinfo

import (
	"net/url"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		method, path, query string
		want                Info
	}{
		{"GET", "/api/v1/namespaces/default/pods", "", Info{IsResource: true, Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods", Namespace: "default"}},
		{"GET", "/api/v1/pods", "watch=true", Info{IsResource: true, Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/pods", "watch=false", Info{IsResource: true, Verb: "list", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/pods", "watch", Info{IsResource: true, Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods"}},
		{"GET", "/api/v1/watch/namespaces/default/pods/web", "", Info{IsResource: true, Verb: "watch", APIPrefix: "api", Version: "v1", Resource: "pods", Namespace: "default", Name: "web"}},
		{"GET", "api/v1/namespaces/default/pods/web/log", "", Info{IsResource: true, Verb: "get", APIPrefix: "api", Version: "v1", Resource: "pods", Subresource: "log", Namespace: "default", Name: "web"}},
		{"PUT", "/api/v1/namespaces/x/finalize", "", Info{IsResource: true, Verb: "update", APIPrefix: "api", Version: "v1", Resource: "namespaces", Subresource: "finalize", Namespace: "x", Name: "x"}},
		{"DELETE", "/api/v1/namespaces/x", "", Info{IsResource: true, Verb: "delete", APIPrefix: "api", Version: "v1", Resource: "namespaces", Namespace: "x", Name: "x"}},
		{"POST", "/api/v1/namespaces", "", Info{IsResource: true, Verb: "create", APIPrefix: "api", Version: "v1", Resource: "namespaces"}},
		{"GET", "/apis/apps/v1/namespaces/d/deployments", "fieldSelector=metadata.name%3Dweb&watch=1", Info{IsResource: true, Verb: "watch", APIPrefix: "apis", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "d", Name: "web"}},
		{"DELETE", "/apis/apps/v1/namespaces/d/deployments", "", Info{IsResource: true, Verb: "deletecollection", APIPrefix: "apis", Group: "apps", Version: "v1", Resource: "deployments", Namespace: "d"}},
		{"PATCH", "/apis/apps/v1/namespaces/d/deployments/web/scale", "", Info{IsResource: true, Verb: "patch", APIPrefix: "apis", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "scale", Namespace: "d", Name: "web"}},
		{"GET", "/api/v1/nodes/n1/proxy/metrics/x", "", Info{IsResource: true, Verb: "get", APIPrefix: "api", Version: "v1", Resource: "nodes", Name: "n1", Subresource: "proxy", Rest: "metrics/x"}},
		{"GET", "/apis/apps", "", Info{Verb: "get", APIPrefix: "apis", Group: "apps"}},
		{"GET", "/apis/apps/v1", "", Info{Verb: "get", APIPrefix: "apis", Group: "apps", Version: "v1"}},
		{"GET", "/api", "", Info{Verb: "get", APIPrefix: "api"}},
		{"GET", "/version", "", Info{Verb: "get"}},
		{"GET", "/openapi/v3/apis/apps/v1", "", Info{Verb: "get"}},
		{"GET", "", "", Info{Verb: "get"}},
		{"GET", "////", "", Info{Verb: "get"}},
	} {
		q, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		got := Parse(tc.method, tc.path, q)
		got.Path = ""
		if got != tc.want {
			t.Errorf("%s %s?%s\n got %+v\nwant %+v", tc.method, tc.path, tc.query, got, tc.want)
		}
	}
}

func TestStreamsAndConnects(t *testing.T) {
	for path, want := range map[string][2]bool{
		"/api/v1/pods":                          {true, false},
		"/api/v1/namespaces/d/pods/web":         {false, false},
		"/api/v1/namespaces/d/pods/web/log":     {true, false},
		"/api/v1/namespaces/d/pods/web/exec":    {false, true},
		"/apis/x/v1/namespaces/d/pods/web/exec": {false, false},
		"/version":                              {false, false},
	} {
		i := Parse("GET", path, nil)
		if got := [2]bool{i.Streams(), i.Connects()}; got != want {
			t.Errorf("%s: streams, connects = %v, want %v", path, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("GET", "/api/v1/namespaces/default/pods/web/log", "fieldSelector=a%3Db")
	f.Fuzz(func(t *testing.T, method, path, query string) {
		q, _ := url.ParseQuery(query)
		if i := Parse(method, path, q); i.IsResource && (i.Resource == "" || i.Version == "") {
			t.Errorf("a resource request without resource or version: %+v", i)
		}
	})
}
