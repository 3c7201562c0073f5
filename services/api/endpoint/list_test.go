package endpoint_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/api/endpoint"
)

func names(r *endpoint.ListResult) string {
	var out []string
	for _, e := range r.Entries {
		out = append(out, e.Object.GetName())
	}
	return strings.Join(out, " ")
}

func TestListSelectors(t *testing.T) {
	a := newAPI(t)
	a.create("namespaces", "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
	for i := range 4 {
		p := newPod(fmt.Sprint("p", i))
		p.Spec.NodeName, p.Spec.SchedulerName = fmt.Sprint("n", i%2), "mine"
		p.Labels = map[string]string{"app": "web", "i": fmt.Sprint(i)}
		a.create("pods", "default", p)
	}
	a.create("pods", "other", newPod("p1"))
	for _, c := range []struct{ namespace, label, field, want string }{
		{"default", "", "", "p0 p1 p2 p3"},
		{"", "", "", "p0 p1 p2 p3 p1"},
		{"", "", "spec.nodeName=n1", "p1 p3"},
		{"default", "", "spec.nodeName=n1", "p1 p3"},
		{"other", "", "spec.nodeName=n1", ""},
		{"", "", "spec.nodeName=", "p1"},
		{"", "", "spec.nodeName!=n1", "p0 p2 p1"},
		{"", "i=1", "spec.nodeName=n1", "p1"},
		{"", "app", "", "p0 p1 p2 p3"},
		{"", "i in (0,3)", "", "p0 p3"},
		{"", "", "metadata.name=p1", "p1 p1"},
		{"default", "", "metadata.name=p1", "p1"},
		{"", "", "metadata.name=p1,metadata.namespace=other", "p1"},
		{"default", "", "metadata.name!=p1", "p0 p2 p3"},
		{"default", "", "metadata.namespace=other", ""},
		{"", "", "status.phase=Running", ""},
		{"", "", "spec.schedulerName=mine,spec.nodeName=n0", "p0 p2"},
	} {
		for _, rv := range []string{"", "0"} {
			r, err := a.of("pods").List(a.ctx, c.namespace, metav1.ListOptions{LabelSelector: c.label, FieldSelector: c.field, ResourceVersion: rv})
			if err != nil {
				t.Fatal(err)
			}
			if names(r) != c.want {
				t.Errorf("%+v at %q: %q", c, rv, names(r))
			}
		}
	}
	_, err := a.of("pods").List(a.ctx, "", metav1.ListOptions{FieldSelector: "spec.foo=x"})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, "field label not supported: spec.foo")
	_, err = a.of("configmaps").List(a.ctx, "", metav1.ListOptions{FieldSelector: "data.k=x"})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, `"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"`)
	_, err = a.of("pods").List(a.ctx, "", metav1.ListOptions{LabelSelector: "a in b"})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, "")
}

// A list in pages shows one state, whatever is written meanwhile.
func TestListInPages(t *testing.T) {
	a := newAPI(t)
	for i := range 10 {
		a.create("configmaps", "default", newConfigMap(fmt.Sprint("c", i)))
	}
	cms := a.of("configmaps")
	var got []string
	var revision int64
	o := metav1.ListOptions{Limit: 3}
	for page := 0; ; page++ {
		r, err := cms.List(a.ctx, "default", o)
		if err != nil {
			t.Fatal(err)
		}
		if page == 0 {
			revision = r.Revision
			if r.RemainingItemCount == nil || *r.RemainingItemCount != 7 {
				t.Errorf("remaining %v", r.RemainingItemCount)
			}
		}
		if r.Revision != revision {
			t.Errorf("page %d is of revision %d, not %d", page, r.Revision, revision)
		}
		got = append(got, names(r))
		if r.Continue == "" {
			break
		}
		o.Continue = r.Continue
		a.create("configmaps", "default", newConfigMap(fmt.Sprintf("c%d-more", page)))
		if _, _, err := cms.Delete(a.ctx, "default", fmt.Sprint("c", 9-page), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "c0 c1 c2|c3 c4 c5|c6 c7 c8|c9"; strings.Join(got, "|") != want {
		t.Errorf("pages %q", got)
	}
}

func TestListAtRevisions(t *testing.T) {
	a := newAPI(t)
	cms := a.of("configmaps")
	first := a.create("configmaps", "default", newConfigMap("a"))
	second := a.create("configmaps", "default", newConfigMap("b"))
	if _, _, err := cms.Delete(a.ctx, "default", "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	at := func(revision int64, match metav1.ResourceVersionMatch) (*endpoint.ListResult, error) {
		return cms.List(a.ctx, "default", metav1.ListOptions{ResourceVersion: strconv.FormatInt(revision, 10), ResourceVersionMatch: match})
	}
	for _, c := range []struct {
		revision int64
		match    metav1.ResourceVersionMatch
		want     string
	}{
		{first.Revision, metav1.ResourceVersionMatchExact, "a"},
		{second.Revision, metav1.ResourceVersionMatchExact, "a b"},
		{second.Revision + 1, metav1.ResourceVersionMatchExact, "b"},
		{first.Revision, metav1.ResourceVersionMatchNotOlderThan, "b"},
		{first.Revision, "", "b"},
	} {
		r, err := at(c.revision, c.match)
		if err != nil || names(r) != c.want {
			t.Errorf("%d %s: %q, want %q (%v)", c.revision, c.match, names(r), c.want, err)
		}
	}
	_, err := cms.List(a.ctx, "", metav1.ListOptions{ResourceVersion: "x"})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, "")
	_, err = cms.List(a.ctx, "", metav1.ListOptions{ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	wantError(t, err, 422, metav1.StatusReasonInvalid, "")
	_, err = cms.List(a.ctx, "", metav1.ListOptions{Continue: "nonsense"})
	wantError(t, err, 400, metav1.StatusReasonBadRequest, "")

	failed := make(chan error, 1)
	go func() {
		_, err := at(1_000_000, metav1.ResourceVersionMatchNotOlderThan)
		failed <- err
	}()
	// The list waits on the clock for three seconds.
	for !a.clock.HasWaiters() {
		select {
		case err := <-failed:
			t.Fatalf("did not wait: %v", err)
		default:
		}
	}
	a.clock.Step(3e9)
	s := wantError(t, <-failed, 504, metav1.StatusReasonTimeout, fmt.Sprintf("Timeout: Too large resource version: 1000000, current: %d", a.hub.Revision()))
	if s.ErrStatus.Details.RetryAfterSeconds != 1 || s.ErrStatus.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge {
		t.Errorf("details %+v", s.ErrStatus.Details)
	}
}

// events.k8s.io shows the same events as v1, in its own form.
func TestAlias(t *testing.T) {
	a := newAPI(t)
	view, ok := a.set.Find("events.k8s.io", "v1", "events")
	if !ok {
		t.Fatal("no events.k8s.io")
	}
	w, err := view.Watch(a.ctx, "default", metav1.ListOptions{FieldSelector: "regarding.name=p"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "p"}, Reason: "Started", Message: "note", Type: "Normal"}
	a.create("events", "default", event)
	r, err := view.List(a.ctx, "default", metav1.ListOptions{FieldSelector: "regarding.name=p"})
	if err != nil || len(r.Entries) != 1 {
		t.Fatalf("%v, %v", r, err)
	}
	shown := r.Entries[0].Object.(*eventsv1.Event)
	if shown.Note != "note" || shown.APIVersion != "events.k8s.io/v1" || shown.ResourceVersion == "" {
		t.Errorf("shown as %+v", shown)
	}
	got, err := w.Next(a.ctx)
	if err != nil || got.Entry.Object.(*eventsv1.Event).Note != "note" {
		t.Errorf("watched %+v, %v", got, err)
	}
	if _, _, err := view.Delete(a.ctx, "default", "e", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = a.of("events").Get(a.ctx, "default", "e", metav1.GetOptions{})
	wantError(t, err, 404, metav1.StatusReasonNotFound, `events "e" not found`)
}
