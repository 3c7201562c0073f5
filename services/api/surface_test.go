package api

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/orrery-io/orrery/gen/go/orrery/api/v1"
	"github.com/orrery-io/orrery/services/internal/kinds"
	"github.com/orrery-io/orrery/services/internal/pki"
)

func TestReflectionListsTheTypedServices(t *testing.T) {
	h := start(t)
	stream, err := reflectionpb.NewServerReflectionClient(h.dial(pki.Admin)).ServerReflectionInfo(h.ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		t.Helper()
		if err := stream.Send(q); err != nil {
			t.Fatal(err)
		}
		a, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	names := map[string]bool{}
	a := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	for _, s := range a.GetListServicesResponse().GetService() {
		names[s.GetName()] = true
	}
	for _, k := range kinds.All {
		if !names[k.Service] {
			t.Errorf("no service %s", k.Service)
		}
	}
	a = ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "orrery.apps.v1.DeploymentService"}})
	if len(a.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("no descriptor: %v", a.GetErrorResponse())
	}
}

func TestReviews(t *testing.T) {
	h := start(t)
	front := h.rest(pki.Gateway)
	ann := front.with("x-remote-user", "ann", "x-remote-group", "dev")
	can := func(r *rest, attributes string) bool {
		t.Helper()
		var review authorizationv1.SelfSubjectAccessReview
		body := `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"resourceAttributes":` + attributes + `}}`
		if err := json.Unmarshal(r.must("Create", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", body).body, &review); err != nil {
			t.Fatal(err)
		}
		return review.Status.Allowed
	}
	const list = `{"verb":"list","resource":"pods","namespace":"default"}`
	if can(ann, list) {
		t.Error("ann may list pods before anything says so")
	}
	if s := ann.fails("Get", "/api/v1/namespaces/default/pods", "", ""); s.ErrStatus.Message != `pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the namespace "default"` {
		t.Errorf("403: %s", s.ErrStatus.Message)
	}
	var who authenticationv1.SelfSubjectReview
	if err := json.Unmarshal(ann.must("Create", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "application/json", `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}`).body, &who); err != nil {
		t.Fatal(err)
	}
	if who.Status.UserInfo.Username != "ann" || strings.Join(who.Status.UserInfo.Groups, ",") != "dev,system:authenticated" {
		t.Errorf("ann is %+v", who.Status.UserInfo)
	}

	admin := h.rest(pki.Admin)
	admin.must("Create", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "application/json",
		`{"metadata":{"name":"dev"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},"subjects":[{"kind":"Group","apiGroup":"rbac.authorization.k8s.io","name":"dev"}]}`)
	for !can(ann, list) {
		if h.ctx.Err() != nil {
			t.Fatal("the binding never took effect")
		}
	}
	if can(ann, `{"verb":"get","resource":"secrets","namespace":"default"}`) {
		t.Error("view reads secrets")
	}
	ann.must("Get", "/api/v1/namespaces/default/pods", "", "")
	asBob := func(r *rest) *rest { return r.with("impersonate-user", "bob", "impersonate-group", "dev") }
	if !can(asBob(admin), list) || can(asBob(admin), `{"verb":"delete","resource":"pods","namespace":"default"}`) {
		t.Error("admin as bob in dev is not who dev is")
	}
	if s := asBob(ann).fails("Get", "/api/v1/namespaces/default/pods", "", ""); s.ErrStatus.Message != `users "bob" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope` {
		t.Errorf("ann as bob: %s", s.ErrStatus.Message)
	}
	// Somebody else's headers prove nothing.
	if s := h.rest(pki.Scheduler).with("x-remote-user", "kubernetes-admin", "x-remote-group", "system:masters").fails("Get", "/api/v1/namespaces/default/secrets/x", "", ""); s.ErrStatus.Code != 403 {
		t.Errorf("the scheduler posing as admin: %+v", s.ErrStatus)
	}
	if s := front.with("authorization", "Bearer abc").fails("Get", "/api/v1/nodes", "", ""); s.ErrStatus.Code != 401 {
		t.Errorf("an unknown token: %+v", s.ErrStatus)
	}
	if s := front.fails("Get", "/api/v1/nodes", "", ""); s.ErrStatus.Code != 403 || !strings.Contains(s.ErrStatus.Message, `User "system:anonymous"`) {
		t.Errorf("nobody: %+v", s.ErrStatus)
	}
	front.must("Get", "/version", "", "")
}

func TestResourceService(t *testing.T) {
	h := start(t)
	c := apiv1.NewResourceServiceClient(h.dial(pki.Admin))
	ref := &apiv1.ResourceRef{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "default"}
	one := &apiv1.ResourceRef{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "default", Name: "web"}
	if _, err := c.Create(h.ctx, &apiv1.ResourceServiceCreateRequest{Ref: ref, Object: &apiv1.Body{ContentType: "application/json", Data: []byte(deploymentJSON)}}); err != nil {
		t.Fatal(err)
	}
	watch, err := c.Watch(h.ctx, &apiv1.ResourceServiceWatchRequest{Ref: ref})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := watch.Recv(); err != nil || m.GetType() != "ADDED" || !bytes.Contains(m.GetObject().GetData(), []byte(`"name":"web"`)) {
		t.Fatalf("watch: %v %v", m, err)
	}
	scale := &apiv1.ResourceRef{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "default", Name: "web", Subresource: "scale"}
	got, err := c.Get(h.ctx, &apiv1.ResourceServiceGetRequest{Ref: scale})
	if err != nil || !bytes.Contains(got.GetObject().GetData(), []byte(`{"kind":"Scale","apiVersion":"autoscaling/v1"`)) || !bytes.Contains(got.GetObject().GetData(), []byte(`"selector":"app=web"`)) {
		t.Errorf("scale: %s %v", got.GetObject().GetData(), err)
	}
	if _, err := c.Patch(h.ctx, &apiv1.ResourceServicePatchRequest{Ref: scale, Patch: &apiv1.Body{ContentType: "application/merge-patch+json", Data: []byte(`{"spec":{"replicas":5}}`)}}); err != nil {
		t.Fatal(err)
	}
	list, err := c.List(h.ctx, &apiv1.ResourceServiceListRequest{Ref: ref})
	if err != nil || !bytes.Contains(list.GetList().GetData(), []byte(`"replicas":5`)) {
		t.Errorf("list: %s %v", list.GetList().GetData(), err)
	}
	if _, err := c.Delete(h.ctx, &apiv1.ResourceServiceDeleteRequest{Ref: one}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Discover(h.ctx, &apiv1.ResourceServiceDiscoverRequest{})
	if err != nil || !bytes.Contains(d.GetGroups().GetData(), []byte(`"resource":"deployments"`)) {
		t.Errorf("discover: %v", err)
	}
}

// FuzzRest sends anything to RestService: every answer is a body or a Status, and the service lives on.
func FuzzRest(f *testing.F) {
	f.Add(uint8(2), "/apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict", "application/json", "application/json", []byte(deploymentJSON))
	f.Add(uint8(4), "/api/v1/namespaces/default/configmaps/a", "application/strategic-merge-patch+json", "application/json;as=Table;v=v1;g=meta.k8s.io", []byte(`{"data":{"a":null}}`))
	f.Add(uint8(5), "/api/v1/namespaces/default/configmaps?labelSelector=a%20in%20(b)", "", "", []byte(`{"kind":"DeleteOptions"}`))
	f.Add(uint8(2), "/api/v1/namespaces/default/pods/web/eviction", "application/vnd.kubernetes.protobuf", "*/*;q=0", []byte("k8s\x00\x0a\x04"))
	f.Add(uint8(0), "/openapi/v3/api/v1?hash=1", "", "application/*", []byte(nil))
	h := start(f)
	r := h.rest(pki.Admin)
	methods := []string{"Get", "Get", "Create", "Update", "Patch", "Delete"}
	f.Fuzz(func(t *testing.T, method uint8, path, contentType, accept string, body []byte) {
		if strings.ContainsFunc(accept, func(c rune) bool { return c < 0x20 || c > 0x7e }) || strings.Contains(path, "/namespaces/kube-system") {
			return
		}
		r.h.t = t
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		r.h.ctx = ctx
		_, err := r.with("accept", accept).do(methods[int(method)%len(methods)], strings.ToValidUTF8(path, ""), strings.ToValidUTF8(contentType, ""), body)
		if err == nil {
			return
		}
		s, ok := err.(interface{ Status() metav1.Status })
		if !ok || s.Status().Code == 0 || s.Status().Message == "" {
			t.Errorf("an error without a Status: %v", err)
		}
		if ok && strings.Contains(s.Status().Message, "panic") {
			t.Errorf("%s %s: %s", methods[int(method)%len(methods)], path, s.Status().Message)
		}
	})
}
