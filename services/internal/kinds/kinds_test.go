package kinds

import "testing"

func TestLookup(t *testing.T) {
	k, ok := ByResource("apps", "v1", "deployments")
	if !ok || k.Kind != "Deployment" || k.APIVersion() != "apps/v1" || k.GroupResource() != "deployments.apps" {
		t.Fatalf("deployments: %v %+v", ok, k)
	}
	if k, ok := ByKind("", "v1", "Pod"); !ok || k.Service != "orrery.core.v1.PodService" || k.GroupResource() != "pods" {
		t.Fatalf("Pod: %v %+v", ok, k)
	}
	if _, ok := ByResource("", "v1", "deployments"); ok {
		t.Fatal("deployments are not in the core group")
	}
	if k, ok := ByService("orrery.events.v1.EventService"); !ok || k.Group != "events.k8s.io" {
		t.Fatalf("EventService: %v %+v", ok, k)
	}
}

// TestTable holds what every reader of the table relies on.
func TestTable(t *testing.T) {
	short := map[string]string{}
	for _, k := range All {
		id := k.GroupResource() + "/" + k.Version
		if k.HasStatus != k.HasSubresource("status") {
			t.Errorf("%s: HasStatus and Subresources disagree", id)
		}
		for _, s := range k.Subresources {
			if sub, ok := k.Sub(s); !ok || len(sub.Verbs) == 0 {
				t.Errorf("%s: subresource %s is not described", id, s)
			}
		}
		for _, s := range k.ShortNames {
			if o, taken := short[s]; taken && o != k.Plural {
				t.Errorf("short name %s belongs to both %s and %s", s, o, k.Plural)
			}
			short[s] = k.Plural
		}
		if len(k.Methods) == 0 || len(k.Verbs) == 0 {
			t.Errorf("%s: no methods or no verbs", id)
		}
	}
}
