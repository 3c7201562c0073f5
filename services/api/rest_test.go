package api

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	protobufserializer "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orrery-io/orrery/services/internal/pki"
)

const deploymentJSON = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,
"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"nginx:1.27"}]}}}}`

const deployments = "/apis/apps/v1/namespaces/default/deployments"

func TestNegotiation(t *testing.T) {
	h := start(t)
	r := h.rest(pki.Admin)
	r.must("Create", deployments, "application/json", deploymentJSON)

	yaml := r.with("accept", "application/yaml").must("Get", deployments+"/web", "", "")
	if yaml.contentType != "application/yaml" || !strings.HasPrefix(string(yaml.body), "apiVersion: apps/v1\nkind: Deployment\n") {
		t.Errorf("yaml: %s %.80s", yaml.contentType, yaml.body)
	}

	proto := r.with("accept", "application/vnd.kubernetes.protobuf;q=0.9, application/json;q=0.1").must("Get", deployments+"/web", "", "")
	decoder := protobufserializer.NewSerializer(scheme.Scheme, scheme.Scheme)
	obj, gvk, err := decoder.Decode(proto.body, nil, nil)
	if err != nil || gvk.Kind != "Deployment" || *obj.(*appsv1.Deployment).Spec.Replicas != 3 || obj.(*appsv1.Deployment).ResourceVersion == "" {
		t.Errorf("protobuf: %v %v", gvk, err)
	}
	list := r.with("accept", "application/vnd.kubernetes.protobuf").must("Get", deployments, "", "")
	obj, gvk, err = decoder.Decode(list.body, nil, nil)
	if err != nil || gvk.Kind != "DeploymentList" || len(obj.(*appsv1.DeploymentList).Items) != 1 || obj.(*appsv1.DeploymentList).Items[0].Name != "web" {
		t.Errorf("protobuf list: %v %v", gvk, err)
	}

	const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	var table metav1.Table
	if err := json.Unmarshal(r.with("accept", asTable).must("Get", deployments, "", "").body, &table); err != nil {
		t.Fatal(err)
	}
	if table.Kind != "Table" || len(table.Rows) != 1 || table.Rows[0].Cells[0] != "web" || len(table.ColumnDefinitions) != len(table.Rows[0].Cells) {
		t.Errorf("table: %+v", table)
	}
	if !strings.Contains(string(table.Rows[0].Object.Raw), `"kind":"PartialObjectMetadata"`) {
		t.Errorf("row object: %s", table.Rows[0].Object.Raw)
	}

	const asPartial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
	partial := r.with("accept", asPartial).must("Get", deployments, "", "")
	var unknown runtime.Unknown
	var metadata metav1.PartialObjectMetadataList
	if err := unknown.Unmarshal(partial.body[4:]); err != nil {
		t.Fatal(err)
	}
	if err := metadata.Unmarshal(unknown.Raw); err != nil || unknown.Kind != "PartialObjectMetadataList" || metadata.Items[0].Name != "web" || metadata.Items[0].ResourceVersion == "" {
		t.Errorf("metadata: %s %+v %v", unknown.Kind, metadata, err)
	}

	if s := r.with("accept", "text/html").fails("Get", deployments, "", ""); s.ErrStatus.Code != 406 ||
		s.ErrStatus.Message != "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf" {
		t.Errorf("406: %+v", s.ErrStatus)
	}
	if pretty := r.must("Get", deployments+"/web?pretty=true", "", ""); !strings.HasPrefix(string(pretty.body), "{\n  \"kind\": \"Deployment\"") {
		t.Errorf("pretty: %.60s", pretty.body)
	}
	data, err := (&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	body, err := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: data}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	r.must("Create", "/api/v1/namespaces/default/pods", "application/vnd.kubernetes.protobuf", "k8s\x00"+string(body))
	r.must("Create", "/api/v1/namespaces/default/configmaps", "application/yaml", "metadata: {name: from-yaml}\ndata: {a: b}\n")
}

// Bad input gets Kubernetes' code, reason and text, and nothing is stored.
func TestBadInput(t *testing.T) {
	h := start(t)
	r := h.rest(pki.Admin)
	edit := func(old, new string) string { return strings.Replace(deploymentJSON, old, new, 1) }
	const json = "application/json"
	for name, tc := range map[string]struct {
		method, path, contentType, body string
		code                            int32
		reason                          metav1.StatusReason
		message                         string
	}{
		"unknown field": {"Create", deployments + "?fieldValidation=Strict", json, edit(`"replicas":3`, `"replica":3`), 400, metav1.StatusReasonBadRequest,
			`Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.replica"`},
		"duplicate field": {"Create", deployments + "?fieldValidation=Strict", json, edit(`"replicas":3`, `"replicas":3,"replicas":4`), 400, metav1.StatusReasonBadRequest,
			`Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: duplicate field "spec.replicas"`},
		"wrong type": {"Create", deployments, json, edit(`"replicas":3`, `"replicas":"three"`), 400, metav1.StatusReasonBadRequest,
			`Deployment in version "v1" cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32`},
		"malformed JSON": {"Create", deployments, json, `{"kind":`, 400, metav1.StatusReasonBadRequest,
			`the object provided is unrecognized (must be of type Deployment): couldn't get version/kind; json parse error: unexpected end of JSON input ({"kind":)`},
		"malformed protobuf": {"Create", deployments, "application/vnd.kubernetes.protobuf", "k8s\x00\xff\xff", 400, metav1.StatusReasonBadRequest, ""},
		"no protobuf": {"Create", deployments, "application/vnd.kubernetes.protobuf", "nonsense", 400, metav1.StatusReasonBadRequest,
			"the object provided is unrecognized (must be of type Deployment): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f6e73656e7365)"},
		"another kind":    {"Create", deployments, json, podJSON, 400, metav1.StatusReasonBadRequest, ""},
		"another version": {"Create", deployments, json, edit(`apps/v1`, `apps/v1beta1`), 400, metav1.StatusReasonBadRequest, ""},
		"unknown media type": {"Create", deployments, "text/plain", "x", 415, metav1.StatusReasonUnsupportedMediaType,
			"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"},
		"unknown patch": {"Patch", deployments + "/web", json, "{}", 415, metav1.StatusReasonUnsupportedMediaType, ""},
		"too large": {"Create", deployments, json, edit(`"web"`, `"`+strings.Repeat("w", 3<<20)+`"`), 413, metav1.StatusReasonRequestEntityTooLarge,
			"Request entity too large: limit is 3145728"},
		"unknown resource": {"Get", "/apis/apps/v1/namespaces/default/deploymints", "", "", 404, metav1.StatusReasonNotFound, "the server could not find the requested resource"},
		"unknown group":    {"Get", "/apis/nothing.io/v1/things", "", "", 404, metav1.StatusReasonNotFound, "the server could not find the requested resource"},
		"unknown path":     {"Get", "/nothing", "", "", 404, metav1.StatusReasonNotFound, "the server could not find the requested resource"},
		"wrong verb":       {"Update", deployments, json, deploymentJSON, 405, metav1.StatusReasonMethodNotAllowed, "the server does not allow this method on the requested resource"},
		"create everywhere": {"Create", "/apis/apps/v1/deployments", json, deploymentJSON, 405, metav1.StatusReasonMethodNotAllowed,
			"the server does not allow this method on the requested resource"},
		"not there":   {"Get", deployments + "/none", "", "", 404, metav1.StatusReasonNotFound, `deployments.apps "none" not found`},
		"bad options": {"Create", deployments + "?dryRun=some", json, deploymentJSON, 422, metav1.StatusReasonInvalid, ""},
		"bad limit":   {"Get", deployments + "?limit=many", "", "", 400, metav1.StatusReasonBadRequest, ""},
		"bad query":   {"Get", deployments + "?limit=%zz", "", "", 400, metav1.StatusReasonBadRequest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := r.fails(tc.method, tc.path, tc.contentType, tc.body)
			if s.ErrStatus.Code != tc.code || s.ErrStatus.Reason != tc.reason || tc.message != "" && s.ErrStatus.Message != tc.message {
				t.Errorf("got  %d %s %s\nwant %d %s %s", s.ErrStatus.Code, s.ErrStatus.Reason, s.ErrStatus.Message, tc.code, tc.reason, tc.message)
			}
		})
	}
	if list := r.must("Get", deployments, "", ""); !bytes.Contains(list.body, []byte(`"items":[]`)) {
		t.Errorf("something was stored: %s", list.body)
	}

	warned := r.must("Create", deployments, json, edit(`"replicas":3`, `"replica":3`))
	if w := warned.header.Get("warning"); len(w) != 1 || w[0] != `299 - "unknown field \"spec.replica\""` {
		t.Errorf("warnings %q", w)
	}
	if s := r.fails("Create", deployments, json, deploymentJSON); s.ErrStatus.Code != 409 || s.ErrStatus.Message != `deployments.apps "web" already exists` {
		t.Errorf("again: %+v", s.ErrStatus)
	}
	deleted := r.must("Delete", deployments+"/web", json, `{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}`)
	if !bytes.Contains(deleted.body, []byte(`"status":"Success","details":{"name":"web","group":"apps","kind":"deployments","uid":`)) {
		t.Errorf("delete answered %s", deleted.body)
	}
}

func TestWatchFrames(t *testing.T) {
	h := start(t)
	r := h.rest(pki.Admin)
	read := func(next func() (*frame, error)) string {
		t.Helper()
		f, err := next()
		if err != nil {
			t.Fatal(err)
		}
		return string(f.data)
	}
	list := r.must("Get", deployments, "", "")
	var meta metav1.List
	if err := json.Unmarshal(list.body, &meta); err != nil {
		t.Fatal(err)
	}
	at := deployments + "?watch=1&resourceVersion=" + meta.ResourceVersion
	plain, stopPlain := r.frames(at)
	defer stopPlain()
	table, stopTable := r.with("accept", "application/json;as=Table;v=v1;g=meta.k8s.io").frames(at)
	defer stopTable()
	proto, stopProto := r.with("accept", "application/vnd.kubernetes.protobuf").frames(at)
	defer stopProto()

	r.must("Create", deployments, "application/json", deploymentJSON)
	r.must("Patch", deployments+"/web", "application/merge-patch+json", `{"metadata":{"labels":{"x":"y"}}}`)
	r.must("Delete", deployments+"/web", "", "")
	for _, kind := range []string{"ADDED", "MODIFIED", "DELETED"} {
		if s := read(plain); !strings.HasPrefix(s, `{"type":"`+kind+`","object":{"kind":"Deployment","apiVersion":"apps/v1",`) || !strings.HasSuffix(s, "}\n") {
			t.Errorf("%s: %s", kind, s)
		}
		if s := read(table); strings.Contains(s, `"columnDefinitions":null`) != (kind != "ADDED") || !strings.Contains(s, `"kind":"Table"`) {
			t.Errorf("table %s: %s", kind, s)
		}
		b := []byte(read(proto))
		if n := int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3]); n != len(b)-4 {
			t.Fatalf("frame says %d bytes and has %d", n, len(b)-4)
		}
		var event metav1.WatchEvent
		if err := event.Unmarshal(b[4:]); err != nil || event.Type != kind {
			t.Fatalf("protobuf event %s: %v", event.Type, err)
		}
		obj, _, err := protobufserializer.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(event.Object.Raw, nil, nil)
		if err != nil || obj.(*appsv1.Deployment).Name != "web" {
			t.Errorf("protobuf object: %v", err)
		}
	}
	next, stop := r.frames(deployments + "?watch=1&resourceVersion=1&timeoutSeconds=1")
	defer stop()
	if f, err := next(); err == nil && f.data != nil && !bytes.Contains(f.data, []byte(`"type":"ERROR"`)) && !bytes.Contains(f.data, []byte(`"type":"ADDED"`)) {
		t.Errorf("an old revision: %s", f.data)
	}
}

// frame is one event as it came.
type frame struct{ data []byte }

// frames opens a watch and waits for the empty piece that says it is open.
func (r *rest) frames(path string) (next func() (*frame, error), stop func()) {
	r.h.t.Helper()
	recv, stop := r.stream(path)
	first, err := recv()
	if err != nil || len(first.Parts) != 0 || first.ContentType == "" {
		r.h.t.Fatalf("first piece %v, %v", first, err)
	}
	var buffer []byte
	return func() (*frame, error) {
		// A piece may hold several events: JSON's end with a newline, protobuf's are as long as their first four bytes say.
		for {
			n := 0
			if first.ContentType == "application/json" {
				n = bytes.IndexByte(buffer, '\n') + 1
			} else if len(buffer) >= 4 {
				n = 4 + int(binary.BigEndian.Uint32(buffer))
			}
			if n > 0 && n <= len(buffer) {
				f := &frame{buffer[:n]}
				buffer = buffer[n:]
				return f, nil
			}
			b, err := recv()
			if err != nil {
				if err == io.EOF {
					return &frame{}, nil
				}
				return nil, err
			}
			buffer = append(buffer, bytes.Join(b.Parts, nil)...)
		}
	}, stop
}

func TestStreamingList(t *testing.T) {
	h := start(t)
	r := h.rest(pki.Admin)
	for i := range 40 {
		name := "cm-" + string(rune('a'+i/10)) + string(rune('0'+i%10))
		r.must("Create", "/api/v1/namespaces/default/configmaps", "application/json", `{"metadata":{"name":"`+name+`"},"data":{"x":"`+strings.Repeat("y", 10000)+`"}}`)
	}
	next, stop := r.stream("/api/v1/configmaps?fieldSelector=metadata.namespace%3Ddefault")
	defer stop()
	var whole []byte
	count := 0
	for {
		b, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		count++
		whole = append(whole, bytes.Join(b.Parts, nil)...)
	}
	var list corev1.ConfigMapList
	if err := json.Unmarshal(whole, &list); err != nil {
		t.Fatal(err)
	}
	if count < 3 || len(list.Items) < 40 {
		t.Errorf("%d items in %d pieces", len(list.Items), count)
	}
}
