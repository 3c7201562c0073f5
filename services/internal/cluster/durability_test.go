package cluster_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orrery-io/orrery/services/internal/cluster"
	"github.com/orrery-io/orrery/services/internal/pki"
)

// Objects are created and changed while the store is ended and started again, several times: whatever was acknowledged is there afterwards, as it was
// acknowledged last, and a watch that was open all the time has seen it.
func TestAcknowledgedWritesSurviveTheStore(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Without: []string{cluster.Gateway, cluster.Controllers, cluster.Scheduler}})
	ctx := c.Context(2 * time.Minute)
	maps := c.Client(pki.Admin).ConfigMaps("default")
	seen := cluster.Observe(t, maps, nil)

	const writers = 4
	var group sync.WaitGroup
	acknowledged := make([]map[string]string, writers)
	running, stop := context.WithCancel(ctx)
	progress := make(chan struct{}, 1)
	for w := range writers {
		acknowledged[w] = map[string]string{}
		group.Go(func() {
			for i := 0; running.Err() == nil; i++ {
				// Every name is written twice: created, then updated from what the creation returned.
				name := fmt.Sprintf("w%d-%d", w, i)
				m, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}, Data: map[string]string{"v": "1"}})
				if err != nil {
					// Not acknowledged: it may be there or not, but the answer must say that nobody knows or that the store is away.
					expectUnavailable(t, err)
					continue
				}
				acknowledged[w][name] = "1"
				m.Data["v"] = "2"
				if _, err := maps.Update(ctx, m); err != nil {
					expectUnavailable(t, err)
					acknowledged[w][name] = "1 or 2"
					continue
				}
				acknowledged[w][name] = "2"
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	await := func(n int) {
		for range n {
			select {
			case <-progress:
			case <-ctx.Done():
				t.Fatal("writes do not go on")
			}
		}
	}
	for range 3 {
		await(20)
		c.Restart(cluster.Store)
	}
	await(20)
	stop()
	group.Wait()

	total := 0
	list, _, err := maps.ListAll(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]string{}
	for _, m := range list {
		stored[m.Name] = m.Data["v"]
	}
	for _, byName := range acknowledged {
		for name, want := range byName {
			total++
			if got := stored[name]; got != want && (want != "1 or 2" || got == "") {
				t.Errorf("%s holds %q, acknowledged was %q", name, got, want)
			}
		}
	}
	t.Logf("%d acknowledged", total)
	if err := seen.Await(ctx, "the watch to show what the list does", func(all []*corev1.ConfigMap) bool {
		if len(all) != len(list) {
			return false
		}
		for _, m := range all {
			if m.Data["v"] != stored[m.Name] {
				return false
			}
		}
		return true
	}); err != nil {
		t.Error(err)
	}
}

// expectUnavailable accepts the answers that a client may try again after.
func expectUnavailable(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsServiceUnavailable(err) && !apierrors.IsServerTimeout(err) && !apierrors.IsTimeout(err) {
		t.Errorf("while the store is away a write was answered with %v (%s), want one that says to try again", err, apierrors.ReasonForError(err))
	}
}
