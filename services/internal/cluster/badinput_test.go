package cluster_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/cluster"
	"github.com/orrery-io/orrery/services/internal/pki"
)

// mistake is a request that must be refused and change nothing, and the Status that answers it.
type mistake struct {
	name                string
	as                  string // certificate; the administrator's when empty, none for "nobody"
	method, path        string
	contentType, accept string
	token               string
	body                string

	code   int32
	reason metav1.StatusReason
	// message is part of the Status' message.
	message string
	// field and cause are the one cause that must be among the details' causes.
	field string
	cause metav1.CauseType
}

const (
	deployments = "/apis/apps/v1/namespaces/default/deployments"
	configMaps  = "/api/v1/namespaces/default/configmaps"
	pods        = "/api/v1/namespaces/default/pods"
)

// deployment is a valid one into whose spec more fields are put.
func deployment(more string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bad"},"spec":{` + more + `"selector":{"matchLabels":{"app":"web"}},
		"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx:1.27"}]}}}}`
}

func configMap(metadata string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap","metadata":{` + metadata + `},"data":{"a":"b"}}`
}

var mistakes = []mistake{
	{name: "unknown field, strict", method: "POST", path: deployments + "?fieldValidation=Strict", body: deployment(`"foo":1,`),
		code: 400, reason: metav1.StatusReasonBadRequest, message: `strict decoding error: unknown field "spec.foo"`},
	{name: "duplicate field, strict", method: "POST", path: deployments + "?fieldValidation=Strict", body: deployment(`"replicas":1,"replicas":2,`),
		code: 400, reason: metav1.StatusReasonBadRequest, message: `strict decoding error: duplicate field "spec.replicas"`},
	{name: "wrong type", method: "POST", path: deployments, body: deployment(`"replicas":"three",`),
		code: 400, reason: metav1.StatusReasonBadRequest, message: `Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`},
	{name: "missing selector", method: "POST", path: deployments, body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"bad"},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`,
		code: 422, reason: metav1.StatusReasonInvalid, message: `Deployment.apps "bad" is invalid: [spec.selector: Required value, spec.template.metadata.labels: Invalid value`, field: "spec.selector", cause: metav1.CauseTypeFieldValueRequired},
	{name: "selector does not match", method: "POST", path: deployments, body: strings.Replace(deployment(""), `"matchLabels":{"app":"web"}`, `"matchLabels":{"app":"other"}`, 1),
		code: 422, reason: metav1.StatusReasonInvalid, message: "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels`", field: "spec.template.metadata.labels", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "missing image", method: "POST", path: pods, body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{"containers":[{"name":"c"}]}}`,
		code: 422, reason: metav1.StatusReasonInvalid, message: `Pod "bad" is invalid: spec.containers[0].image: Required value`, field: "spec.containers[0].image", cause: metav1.CauseTypeFieldValueRequired},
	{name: "negative replicas", method: "POST", path: deployments, body: deployment(`"replicas":-1,`),
		code: 422, reason: metav1.StatusReasonInvalid, message: "spec.replicas: Invalid value: -1: must be greater than or equal to 0", field: "spec.replicas", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "bad quantity", method: "POST", path: pods, body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"much"}}}]}}`,
		code: 400, reason: metav1.StatusReasonBadRequest, message: "quantities must match the regular expression"},
	{name: "bad name", method: "POST", path: pods, body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"Bad_Name"},"spec":{"containers":[{"name":"c","image":"i"}]}}`,
		code: 422, reason: metav1.StatusReasonInvalid, message: `metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`, field: "metadata.name", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "bad label", method: "POST", path: configMaps, body: configMap(`"name":"bad","labels":{"a":"not ok"}`),
		code: 422, reason: metav1.StatusReasonInvalid, message: "metadata.labels: Invalid value: \"not ok\": a valid label must be an empty string or consist of alphanumeric characters", field: "metadata.labels", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "no name", method: "POST", path: configMaps, body: configMap(``),
		code: 422, reason: metav1.StatusReasonInvalid, message: "metadata.name: Required value: name or generateName is required", field: "metadata.name", cause: metav1.CauseTypeFieldValueRequired},
	{name: "name too long", method: "POST", path: configMaps, body: configMap(`"name":"` + strings.Repeat("n", 254) + `"`),
		code: 422, reason: metav1.StatusReasonInvalid, message: "must be no more than 253 characters", field: "metadata.name", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "label too long for a namespace", method: "POST", path: "/api/v1/namespaces", body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"` + strings.Repeat("n", 64) + `"}}`,
		code: 422, reason: metav1.StatusReasonInvalid, message: "must be no more than 63 characters", field: "metadata.name", cause: metav1.CauseTypeFieldValueInvalid},
	{name: "duplicate", method: "POST", path: configMaps, body: configMap(`"name":"there"`),
		code: 409, reason: metav1.StatusReasonAlreadyExists, message: `configmaps "there" already exists`},
	{name: "stale resourceVersion", method: "PUT", path: configMaps + "/there", body: configMap(`"name":"there","resourceVersion":"1"`),
		code: 409, reason: metav1.StatusReasonConflict, message: `Operation cannot be fulfilled on configmaps "there": the object has been modified; please apply your changes to the latest version and try again`},
	{name: "stale resourceVersion in a patch", method: "PATCH", path: configMaps + "/there", contentType: "application/merge-patch+json", body: `{"metadata":{"resourceVersion":"1"},"data":{"a":"c"}}`,
		code: 409, reason: metav1.StatusReasonConflict, message: `Operation cannot be fulfilled on configmaps "there"`},
	{name: "deletion with a wrong uid", method: "DELETE", path: configMaps + "/there", body: `{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"other"}}`,
		code: 409, reason: metav1.StatusReasonConflict, message: `the UID in the precondition (other) does not match the UID in record`},
	{name: "name differs from the path", method: "PUT", path: configMaps + "/there", body: configMap(`"name":"elsewhere"`),
		code: 400, reason: metav1.StatusReasonBadRequest, message: `the name of the object (elsewhere) does not match the name on the URL (there)`},
	{name: "namespace differs from the path", method: "POST", path: configMaps, body: configMap(`"name":"bad","namespace":"kube-system"`),
		code: 400, reason: metav1.StatusReasonBadRequest, message: `the namespace of the provided object does not match the namespace sent on the request`},
	{name: "too large", method: "POST", path: configMaps, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`,
		code: 413, reason: metav1.StatusReasonRequestEntityTooLarge, message: "limit is 3145728"},
	{name: "data too large", method: "POST", path: configMaps, body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"bad"},"data":{"a":"` + strings.Repeat("x", 1<<20) + `b"}}`,
		code: 422, reason: metav1.StatusReasonInvalid, message: "Too long: may not be more than 1048576 bytes"},
	{name: "malformed JSON", method: "POST", path: configMaps, body: `{"apiVersion":"v1","kind":`, code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "malformed YAML", method: "POST", path: configMaps, contentType: "application/yaml", body: "apiVersion: v1\nkind: [ConfigMap\n", code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "malformed protobuf", method: "POST", path: configMaps, contentType: "application/vnd.kubernetes.protobuf", body: "k8s\x00\xff\xff\xff\xff", code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "protobuf without its prefix", method: "POST", path: configMaps, contentType: "application/vnd.kubernetes.protobuf", body: "\x0a\x00", code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "empty body", method: "POST", path: configMaps, code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "unknown kind", method: "POST", path: configMaps, body: `{"apiVersion":"v1","kind":"Comet","metadata":{"name":"bad"}}`, code: 400, reason: metav1.StatusReasonBadRequest, message: `"Comet"`},
	{name: "malformed patch", method: "PATCH", path: configMaps + "/there", contentType: "application/json-patch+json", body: `[{"op":`, code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "unknown patch operation", method: "PATCH", path: configMaps + "/there", contentType: "application/json-patch+json", body: `[{"op":"hop","path":"/data/a"}]`, code: 422, reason: metav1.StatusReasonInvalid},
	{name: "patch of a path that is not there", method: "PATCH", path: configMaps + "/there", contentType: "application/json-patch+json", body: `[{"op":"remove","path":"/data/nothing"}]`, code: 422, reason: metav1.StatusReasonInvalid},
	{name: "change of what may not change", method: "PATCH", path: configMaps + "/there", contentType: "application/merge-patch+json", body: `{"metadata":{"uid":"other"}}`, code: 409, reason: metav1.StatusReasonConflict, message: "Precondition failed: UID in precondition: other"},
	{name: "unknown resource", method: "GET", path: "/api/v1/namespaces/default/comets", code: 404, reason: metav1.StatusReasonNotFound, message: "the server could not find the requested resource"},
	{name: "unknown object", method: "GET", path: configMaps + "/nothing", code: 404, reason: metav1.StatusReasonNotFound, message: `configmaps "nothing" not found`},
	{name: "unknown namespace", method: "POST", path: "/api/v1/namespaces/nowhere/configmaps", body: configMap(`"name":"bad"`), code: 404, reason: metav1.StatusReasonNotFound, message: `namespaces "nowhere" not found`},
	{name: "wrong verb", method: "POST", path: configMaps + "/there", body: configMap(`"name":"there"`), code: 405, reason: metav1.StatusReasonMethodNotAllowed, message: "the server does not allow this method on the requested resource"},
	{name: "unsupported media type", method: "POST", path: configMaps, contentType: "text/plain", body: configMap(`"name":"bad"`), code: 415, reason: metav1.StatusReasonUnsupportedMediaType, message: "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
	{name: "unsupported patch type", method: "PATCH", path: configMaps + "/there", contentType: "application/json", body: `{}`, code: 415, reason: metav1.StatusReasonUnsupportedMediaType, message: "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json"},
	{name: "not acceptable", method: "GET", path: configMaps, accept: "image/png", code: 406, reason: metav1.StatusReasonNotAcceptable, message: "only the following media types are accepted: application/json"},
	{name: "bad label selector", method: "GET", path: configMaps + "?labelSelector=a%3D%3D%3Db", code: 400, reason: metav1.StatusReasonBadRequest},
	{name: "unknown field label", method: "GET", path: pods + "?fieldSelector=spec.colour%3Dred", code: 400, reason: metav1.StatusReasonBadRequest, message: "field label not supported: spec.colour"},
	{name: "bad field selector", method: "GET", path: pods + "?fieldSelector=nothing", code: 400, reason: metav1.StatusReasonBadRequest, message: "nothing"},
	{name: "bad limit", method: "GET", path: configMaps + "?limit=many", code: 400, reason: metav1.StatusReasonBadRequest, message: "many"},
	{name: "bad continue token", method: "GET", path: configMaps + "?limit=1&continue=%21%21", code: 400, reason: metav1.StatusReasonBadRequest, message: "continue key is not valid"},
	{name: "bad resourceVersion", method: "GET", path: configMaps + "?watch=1&resourceVersion=yesterday", code: 400, reason: metav1.StatusReasonBadRequest, message: "yesterday"},
	{name: "bad dryRun", method: "POST", path: configMaps + "?dryRun=maybe", body: configMap(`"name":"bad"`), code: 422, reason: metav1.StatusReasonInvalid, message: `dryRun: Unsupported value: ["maybe"]`},
	{name: "bad fieldValidation", method: "POST", path: configMaps + "?fieldValidation=Lax", body: configMap(`"name":"bad"`), code: 422, reason: metav1.StatusReasonInvalid, message: `fieldValidation: Unsupported value: "Lax"`},
	{name: "bad propagationPolicy", method: "DELETE", path: configMaps + "/there?propagationPolicy=Sideways", code: 422, reason: metav1.StatusReasonInvalid, message: `propagationPolicy: Unsupported value: "Sideways"`},
	{name: "forbidden", as: "bob", method: "POST", path: configMaps, body: configMap(`"name":"bad"`), code: 403, reason: metav1.StatusReasonForbidden, message: `configmaps is forbidden: User "bob" cannot create resource "configmaps" in API group "" in the namespace "default"`},
	{name: "forbidden object", as: "bob", method: "GET", path: configMaps + "/there", code: 403, reason: metav1.StatusReasonForbidden, message: `configmaps "there" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "default"`},
	{name: "no certificate", as: "nobody", method: "GET", path: configMaps, code: 403, reason: metav1.StatusReasonForbidden, message: `configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"`},
	{name: "unknown token", as: "nobody", token: "junk", method: "GET", path: configMaps, code: 401, reason: metav1.StatusReasonUnauthorized, message: "Unauthorized"},
}

// Every mistake is answered with Kubernetes' code, reason, text and field, and nothing at all is written.
func TestBadInput(t *testing.T) {
	// No controllers: whatever moves the store's revision then is the mistake.
	c := cluster.Start(t, cluster.Options{Without: []string{cluster.Controllers, cluster.Scheduler},
		Identities: []pki.Identity{{Name: "bob", CommonName: "bob", Organizations: []string{"developers"}}}})
	clients := map[string]*http.Client{"": c.HTTP(pki.Admin), "bob": c.HTTP("bob"), "nobody": c.HTTP("")}
	send := func(t *testing.T, m mistake) (*http.Response, []byte) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), m.method, "https://"+c.GatewayAddr()+m.path, strings.NewReader(m.body))
		if err != nil {
			t.Fatal(err)
		}
		if m.body != "" {
			request.Header.Set("Content-Type", m.contentType)
			if m.contentType == "" {
				request.Header.Set("Content-Type", "application/json")
			}
		}
		if m.accept != "" {
			request.Header.Set("Accept", m.accept)
		}
		if m.token != "" {
			request.Header.Set("Authorization", "Bearer "+m.token)
		}
		response, err := clients[m.as].Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, data
	}
	revision := func() string {
		response, data := send(t, mistake{method: "GET", path: configMaps})
		var list metav1.PartialObjectMetadataList
		if err := json.Unmarshal(data, &list); err != nil || response.StatusCode != 200 {
			t.Fatalf("%s: %v: %s", response.Status, err, data)
		}
		return list.ResourceVersion
	}
	if response, data := send(t, mistake{method: "POST", path: configMaps, body: configMap(`"name":"there"`)}); response.StatusCode != 201 {
		t.Fatalf("%s: %s", response.Status, data)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			before := revision()
			response, data := send(t, m)
			var status metav1.Status
			if err := json.Unmarshal(data, &status); err != nil {
				t.Fatalf("%s: the answer is no Status: %v: %s", response.Status, err, cut(data))
			}
			if int32(response.StatusCode) != m.code || status.Code != m.code || status.Reason != m.reason || status.Status != metav1.StatusFailure || status.Kind != "Status" {
				t.Errorf("answered %d with %s, want %d %s", response.StatusCode, cut(data), m.code, m.reason)
			}
			if !strings.Contains(status.Message, m.message) {
				t.Errorf("the message is %q, want %q in it", cut([]byte(status.Message)), m.message)
			}
			if m.field != "" && !hasCause(status, m.field, m.cause) {
				t.Errorf("no cause %s of %s in %s", m.cause, m.field, cut(data))
			}
			if after := revision(); after != before {
				t.Errorf("the store went from revision %s to %s", before, after)
			}
		})
	}

	t.Run("unknown field, warned of", func(t *testing.T) {
		for _, mode := range []string{"?fieldValidation=Warn", ""} {
			response, data := send(t, mistake{method: "POST", path: deployments + mode, body: strings.Replace(deployment(`"foo":1,`), `"bad"`, fmt.Sprintf(`"warned-%d"`, len(mode)), 1)})
			if want := `299 - "unknown field \"spec.foo\""`; response.StatusCode != 201 || response.Header.Get("Warning") != want {
				t.Errorf("%q: %s with Warning %q, want 201 with %q: %s", mode, response.Status, response.Header.Get("Warning"), want, cut(data))
			}
			if bytes.Contains(data, []byte(`"foo"`)) {
				t.Errorf("the unknown field was stored: %s", cut(data))
			}
		}
		response, data := send(t, mistake{method: "POST", path: deployments + "?fieldValidation=Ignore", body: strings.Replace(deployment(`"foo":1,`), `"bad"`, `"ignored"`, 1)})
		if response.StatusCode != 201 || response.Header.Get("Warning") != "" {
			t.Errorf("ignored: %s with Warning %q: %s", response.Status, response.Header.Get("Warning"), cut(data))
		}
	})
	t.Run("selector may not change", func(t *testing.T) {
		body := strings.NewReplacer(`"bad"`, `"ignored"`, `{"app":"web"}`, `{"app":"new"}`).Replace(deployment(""))
		response, data := send(t, mistake{method: "PUT", path: deployments + "/ignored", body: body})
		var status metav1.Status
		if err := json.Unmarshal(data, &status); err != nil || response.StatusCode != 422 || !hasCause(status, "spec.selector", metav1.CauseTypeFieldValueInvalid) || !strings.Contains(status.Message, "field is immutable") {
			t.Errorf("%s: %s", response.Status, cut(data))
		}
	})
}

func hasCause(status metav1.Status, field string, cause metav1.CauseType) bool {
	if status.Details == nil {
		return false
	}
	for _, c := range status.Details.Causes {
		if c.Field == field && c.Type == cause {
			return true
		}
	}
	return false
}

func cut(data []byte) string {
	if len(data) > 600 {
		return string(data[:600]) + "..."
	}
	return string(data)
}
