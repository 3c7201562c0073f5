package informer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/orrery-io/orrery/services/internal/apiclient"
)

type podEvent = apiclient.Event[*corev1.Pod]

// step is one thing that a scripted stream yields.
type step struct {
	event podEvent
	err   error
}

func ev(t watch.EventType, name, uid string, rv int, cause string) step {
	return step{event: podEvent{Type: t, TraceParent: cause, Object: &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(uid), ResourceVersion: strconv.Itoa(rv)}}}}
}

func bookmark(rv int, initialEnd bool) step {
	s := ev(watch.Bookmark, "", "", rv, "")
	if initialEnd {
		s.event.Object.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return s
}

// script serves one scripted stream per watch, and blocks in the last one.
type script struct {
	streams [][]step
	opened  []metav1.ListOptions
}

func (s *script) watch(ctx context.Context, options metav1.ListOptions) (Stream[*corev1.Pod], error) {
	s.opened = append(s.opened, options)
	if len(s.streams) == 0 {
		return nil, errors.New("no stream left")
	}
	steps := s.streams[0]
	s.streams = s.streams[1:]
	return &stream{ctx: ctx, steps: steps}, nil
}

type stream struct {
	ctx   context.Context
	steps []step
}

func (s *stream) Recv() (podEvent, error) {
	if len(s.steps) == 0 {
		<-s.ctx.Done()
		return podEvent{}, s.ctx.Err()
	}
	n := s.steps[0]
	s.steps = s.steps[1:]
	return n.event, n.err
}

func (s *stream) Close() {}

// follow runs an informer over a script until it has reported want, and returns all reports. Each report also says what the copy and the
// revision were then.
func follow(t *testing.T, s *script, want string) (reports []string, i *Informer[*corev1.Pod]) {
	t.Helper()
	clock := clocktesting.NewFakeClock(time.Now())
	i = New("pods", s.watch, Options[*corev1.Pod]{Clock: clock, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Indexes: map[string]IndexFunc[*corev1.Pod]{"uid": func(p *corev1.Pod) []string { return []string{string(p.UID)} }}})
	done := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	report := func(what string, p *corev1.Pod, cause Cause) {
		r := strings.TrimSpace(fmt.Sprintf("%s %s/%s@%s %s", what, p.Name, p.UID, p.ResourceVersion, cause.TraceParent))
		reports = append(reports, r)
		if got, ok := i.Get(Key(p)); what != "del" && (!ok || got != p) {
			t.Errorf("%s: the copy does not show it", r)
		}
		if i.Revision() == "" || what != "del" && len(i.Revision()) <= len(p.ResourceVersion) && i.Revision() < p.ResourceVersion {
			t.Errorf("%s: the revision is %q", r, i.Revision())
		}
		if r == want {
			close(done)
		}
	}
	i.AddHandler(Handler[*corev1.Pod]{
		Add:    func(p *corev1.Pod, c Cause) { report("add", p, c) },
		Update: func(_, p *corev1.Pod, c Cause) { report("mod", p, c) },
		Delete: func(p *corev1.Pod, c Cause) { report("del", p, c) },
	})
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	for {
		select {
		case <-done:
			cancel()
			<-ended
			return reports, i
		case <-ctx.Done():
			<-ended
			t.Fatalf("never reported %q, only %q", want, reports)
		default:
			if clock.HasWaiters() {
				clock.Step(maxBackoff * 2)
			}
			runtime.Gosched()
		}
	}
}

func TestChangesAreReportedInOrderWithTheirCause(t *testing.T) {
	s := &script{streams: [][]step{{
		ev(watch.Added, "a", "1", 3, "old"), ev(watch.Added, "b", "2", 4, "old"), bookmark(5, true),
		ev(watch.Modified, "a", "1", 6, "x"), ev(watch.Deleted, "b", "2", 7, "y"), bookmark(8, false), ev(watch.Added, "c", "3", 9, "z"),
	}}}
	got, i := follow(t, s, "add c/3@9 z")
	// What was there at the start comes in no order, and nobody waits for its cause.
	sort.Strings(got[:2])
	want := []string{"add a/1@3", "add b/2@4", "mod a/1@6 x", "del b/2@7 y", "add c/3@9 z"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if i.Len() != 2 || len(i.ByIndex("uid", "2")) != 0 || len(i.ByIndex("uid", "3")) != 1 || len(i.ByIndex(ByNamespace, "ns")) != 2 || i.Revision() != "9" || !i.HasSynced() {
		t.Errorf("copy of %d at %s", i.Len(), i.Revision())
	}
	if o := s.opened[0]; o.ResourceVersion != "" || !*o.SendInitialEvents || !o.AllowWatchBookmarks {
		t.Errorf("opened with %+v", o)
	}
}

func TestABrokenStreamIsResumedWhereItBroke(t *testing.T) {
	s := &script{streams: [][]step{
		{ev(watch.Added, "a", "1", 3, ""), bookmark(5, true), bookmark(8, false), {err: errors.New("connection reset")}},
		{{err: io.EOF}},
		{ev(watch.Modified, "a", "1", 9, "x")},
	}}
	got, _ := follow(t, s, "mod a/1@9 x")
	if want := []string{"add a/1@3", "mod a/1@9 x"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, o := range s.opened[1:] {
		if o.ResourceVersion != "8" || o.SendInitialEvents != nil {
			t.Errorf("resumed with %+v", o)
		}
	}
}

func TestAnExpiredStreamStartsAnewAndReportsTheDifference(t *testing.T) {
	s := &script{streams: [][]step{
		{ev(watch.Added, "same", "1", 1, ""), ev(watch.Added, "changed", "2", 2, ""), ev(watch.Added, "gone", "3", 3, ""), ev(watch.Added, "remade", "4", 4, ""), bookmark(5, true),
			{err: apierrors.NewResourceExpired("too old")}},
		// An initial list that breaks off must not be taken for the whole.
		{ev(watch.Added, "same", "1", 1, ""), {err: errors.New("reset")}},
		{ev(watch.Added, "same", "1", 1, ""), ev(watch.Added, "changed", "2", 7, ""), ev(watch.Added, "remade", "5", 8, ""), ev(watch.Added, "new", "6", 9, ""), bookmark(10, true),
			ev(watch.Modified, "same", "1", 11, "x")},
	}}
	got, i := follow(t, s, "mod same/1@11 x")
	after := got[4 : len(got)-1]
	sort.Strings(after)
	if want := []string{"add new/6@9", "add remade/5@8", "del gone/3@3", "del remade/4@4", "mod changed/2@7"}; !slices.Equal(after, want) {
		t.Errorf("got %q, want %q", after, want)
	}
	if i.Len() != 4 || len(i.ByIndex("uid", "3")) != 0 || len(i.ByIndex("uid", "4")) != 0 || len(i.ByIndex("uid", "5")) != 1 {
		t.Error("the copy or its indexes are not those of the new list")
	}
}
