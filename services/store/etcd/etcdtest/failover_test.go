package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/ordering"

	"github.com/orrery-io/orrery/services/store"
)

// TestFailover takes the leader away under writers, a watch and a lease that is kept alive. The client goes on with the
// other members: what was acknowledged is there, the watch has every write once and in order, the lease lives, and no
// read goes back in time.
func TestFailover(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	cli, ctx := c.client(t), limited(t)
	lease := get(cli.Grant(ctx, 10))(t)
	kept, err := cli.KeepAlive(ctx, lease.ID)
	ok(t, err)
	start := get(cli.Put(ctx, "/leased", "", clientv3.WithLease(lease.ID)))(t).Header.Revision
	watch := cli.Watch(ctx, "/w/", clientv3.WithPrefix(), clientv3.WithRev(start))
	ordered := ordering.NewKV(cli, func(clientv3.Op, clientv3.OpResponse, int64) error {
		return errors.New("an answer older than one before")
	})

	const writers, each = 4, 40
	var wg, halves sync.WaitGroup
	half := make(chan struct{})
	halves.Add(writers)
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if i == each/2 {
					halves.Done()
					<-half
				}
				key := fmt.Sprintf("/w/%d-%d", w, i)
				// A write whose outcome is unknown is made again unless it is there.
				for {
					_, err := cli.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(clientv3.OpPut(key, strconv.Itoa(i))).Commit()
					if err == nil {
						break
					}
					if ctx.Err() != nil {
						t.Error(err)
						return
					}
				}
				if _, err := ordered.Get(ctx, key); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	halves.Wait()
	close(half)
	c.members[0].stop()
	wg.Wait()
	equal(t, "keys", get(cli.Get(ctx, "/w/", clientv3.WithPrefix(), clientv3.WithCountOnly()))(t).Count, writers*each)
	seen, last := map[string]bool{}, int64(0)
	for len(seen) < writers*each {
		r, alive := <-watch
		if !alive {
			t.Fatal("the watch ended")
		}
		ok(t, r.Err())
		for _, e := range r.Events {
			if e.Kv.ModRevision < last || seen[string(e.Kv.Key)] {
				t.Fatalf("event of %s at %d after %d", e.Kv.Key, e.Kv.ModRevision, last)
			}
			last, seen[string(e.Kv.Key)] = e.Kv.ModRevision, true
		}
	}
	// Answers that were made before the change are used up first.
	for len(kept) > 0 {
		<-kept
	}
	if r, alive := <-kept; !alive || r.TTL != 10 {
		t.Fatalf("the lease is not kept alive: %v", r)
	}
	equal(t, "the key of the lease", get(cli.Get(ctx, "/leased"))(t).Count, 1)
}

// TestDrain stops a member that has watches and leases open: they do not hold it up.
func TestDrain(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cli, ctx := c.client(t), limited(t)
	watch := cli.Watch(ctx, "/a", clientv3.WithCreatedNotify())
	equal(t, "created", (<-watch).Created, true)
	lease := get(cli.Grant(ctx, 100))(t)
	kept, err := cli.KeepAlive(ctx, lease.ID)
	ok(t, err)
	<-kept
	waits := make(chan struct{})
	// The drain's own limit would end the test with the calls cut off; the log says whether it came to that.
	go func() { defer close(waits); c.members[0].stop() }()
	select {
	case <-waits:
	case <-ctx.Done():
		t.Fatal("the member does not stop")
	}
}

// TestRequireLeader: a watch that requires a leader ends when its member is cut off from the others; one that does not
// goes on.
func TestRequireLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	left := c.members[1]
	cli, ctx := c.client(t, left), limited(t)
	requires := cli.Watch(clientv3.WithRequireLeader(ctx), "/a", clientv3.WithCreatedNotify())
	patient := cli.Watch(ctx, "/a", clientv3.WithCreatedNotify())
	equal(t, "created", (<-requires).Created && (<-patient).Created, true)
	c.members[0].stop()
	c.members[2].stop()
	r := <-requires
	if !r.Canceled || r.Err() == nil {
		t.Fatalf("got %v", r)
	}
	inner, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := cli.Get(inner, "/a"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if resp := get(cli.Get(ctx, "/a", clientv3.WithSerializable()))(t); resp.Header.Revision == 0 {
		t.Fatal("a serializable read needs no leader")
	}
	// The other two come back; the patient watch goes on.
	for _, i := range []int{0, 2} {
		old := c.members[i].cfg
		start(t, c.certs, store.Config{Name: old.Name, RaftAddr: old.RaftAddr, DataDir: old.DataDir})
	}
	get(cli.Put(ctx, "/a", "back"))(t)
	equal(t, "event", string((<-patient).Events[0].Kv.Value), "back")
}
