package cluster_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/orrery-io/orrery/services/internal/cluster"
	"github.com/orrery-io/orrery/services/internal/pki"
	"github.com/orrery-io/orrery/services/internal/telemetry"
)

// One trace id joins the request that creates a Deployment with everything that follows from it, down to the calls of the container runtime, each
// in its own service.
func TestOneTraceFromApplyToContainer(t *testing.T) {
	spans, restore := telemetry.InstallMemory()
	t.Cleanup(restore) // after the services have ended
	c := cluster.Start(t, cluster.Options{Nodes: 1})
	ctx := c.Context(time.Minute)
	deployments := cluster.Observe(t, c.Client(pki.Admin).Deployments("default"), nil)

	// The caller has a trace of its own already, as an instrumented client does.
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.GatewayAddr()+"/apis/apps/v1/namespaces/default/deployments?fieldManager=kubectl-client-side-apply", strings.NewReader(deployment(`"replicas":2,`)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	response, err := c.HTTP(pki.Admin).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusCreated {
		t.Fatal(response.Status)
	}
	if err := deployments.Await(ctx, "the Deployment to be available", func(all []*appsv1.Deployment) bool {
		return len(all) == 1 && all[0].Status.AvailableReplicas == 2
	}); err != nil {
		t.Error(err)
	}

	c.Stop() // ends every span
	all := spans.GetSpans()
	ours := slices.DeleteFunc(slices.Clone(all), func(s tracetest.SpanStub) bool { return s.SpanContext.TraceID().String() != traceID })
	// What must be in the trace: the service, the beginning of the span's name, and how many at least. Two pods make two of what is done for each.
	for _, want := range []struct {
		service, name string
		count         int
	}{
		{"gateway", "HTTP POST /apis/apps/v1/deployments", 1},
		{"gateway", "orrery.", 1}, // its call of the api
		{"api", "orrery.", 1},
		{"api", "authn", 1},
		{"api", "authz", 1},
		{"api", "admission", 1},
		{"api", "validate", 1},
		{"api", "orrery.store.v1.StoreService/Txn", 1},
		{"store", "raft commit", 1},
		{"store", "raft propose", 1},
		{"store", "raft append", 1},
		{"store", "raft replicate", 1},
		{"store", "raft apply", 1},
		{"controllers", "reconcile deployment", 1},
		{"api", "orrery.apps.v1.ReplicaSetService/Create", 1},
		{"controllers", "reconcile replicaset", 1},
		{"api", "orrery.core.v1.PodService/Create", 2},
		{"scheduler", "schedule", 2},
		{"api", "orrery.core.v1.PodService/Bind", 2},
		{"node", "node sync pod", 2},
		{"node", "CRI RunPodSandbox", 2},
		{"node", "CRI CreateContainer", 2},
		{"node", "CRI StartContainer", 2},
		{"api", "orrery.core.v1.PodService/UpdateStatus", 2},
	} {
		count := 0
		for _, s := range ours {
			if service(s) == want.service && strings.HasPrefix(s.Name, want.name) {
				count++
			}
		}
		if count < want.count {
			t.Errorf("the trace has %d spans %q of %s, want %d", count, want.name, want.service, want.count)
		}
	}
	// Every span but those that continue the caller's own hangs on another one of the trace.
	known := map[trace.SpanID]bool{}
	for _, s := range ours {
		known[s.SpanContext.SpanID()] = true
	}
	for _, s := range ours {
		if parent := s.Parent.SpanID(); !known[parent] && parent.String() != "00f067aa0ba902b7" {
			t.Errorf("the parent of %s in %s is not in the trace", s.Name, service(s))
		}
	}
	if t.Failed() {
		byTrace := map[string][]string{}
		for _, s := range all {
			id := s.SpanContext.TraceID().String()
			byTrace[id] = append(byTrace[id], service(s)+": "+s.Name)
		}
		for id, names := range byTrace {
			t.Logf("%s:\n\t%s", id, strings.Join(names, "\n\t"))
		}
	}
}

// service is the one that the span was made in.
func service(s tracetest.SpanStub) string {
	for _, a := range s.Resource.Attributes() {
		if a.Key == "service.name" {
			return a.Value.AsString()
		}
	}
	return ""
}
