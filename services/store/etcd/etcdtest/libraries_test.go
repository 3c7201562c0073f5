package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/client/v3/leasing"
	"go.etcd.io/etcd/client/v3/mirror"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.etcd.io/etcd/client/v3/ordering"
)

// TestLibraries runs what comes with the client library to build on, against one member.
func TestLibraries(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, fn := range map[string]func(*testing.T, context.Context, *clientv3.Client){
		"Mutex": libMutex, "Election": libElection,
		"STM": libSTM, "Recipes": libRecipes, "Leasing": libLeasing, "NamespaceAndOrdering": libNamespace, "Mirror": libMirror, "Kubernetes": libKubernetes,
	} {
		t.Run(name, func(t *testing.T) { fn(t, limited(t), c.client(t)) })
	}
}

func session(t *testing.T, c *clientv3.Client) *concurrency.Session {
	t.Helper()
	s, err := concurrency.NewSession(c, concurrency.WithTTL(10))
	ok(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func libMutex(t *testing.T, ctx context.Context, c *clientv3.Client) {
	inside := 0
	var wg sync.WaitGroup
	for range 4 {
		s := session(t, c)
		wg.Go(func() {
			m := concurrency.NewMutex(s, "/mutex")
			for range 3 {
				if err := m.Lock(ctx); err != nil {
					t.Error(err)
					return
				}
				inside++ // the race detector watches
				if err := m.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	equal(t, "times inside", inside, 12)
	held := concurrency.NewMutex(session(t, c), "/mutex")
	ok(t, held.Lock(ctx))
	if err := concurrency.NewMutex(session(t, c), "/mutex").TryLock(ctx); !errors.Is(err, concurrency.ErrLocked) {
		t.Fatalf("trying a held lock: %v", err)
	}
}

func libElection(t *testing.T, ctx context.Context, c *clientv3.Client) {
	first, second := session(t, c), session(t, c)
	a, b := concurrency.NewElection(first, "/election"), concurrency.NewElection(second, "/election")
	ok(t, a.Campaign(ctx, "a"))
	won := make(chan error, 1)
	go func() { won <- b.Campaign(ctx, "b") }()
	observed := concurrency.NewElection(second, "/election").Observe(ctx)
	equal(t, "leader", string((<-observed).Kvs[0].Value), "a")
	ok(t, a.Proclaim(ctx, "a2"))
	equal(t, "leader", string((<-observed).Kvs[0].Value), "a2")
	ok(t, first.Close()) // its lease goes, and the leadership with it
	ok(t, <-won)
	equal(t, "leader", string((<-observed).Kvs[0].Value), "b")
}

func libSTM(t *testing.T, ctx context.Context, c *clientv3.Client) {
	const accounts, start = 5, 100
	for i := range accounts {
		get(c.Put(ctx, fmt.Sprintf("/stm/%d", i), strconv.Itoa(start)))(t)
	}
	for _, level := range []concurrency.Isolation{concurrency.SerializableSnapshot, concurrency.Serializable, concurrency.RepeatableReads} {
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 5 {
					from, to := fmt.Sprintf("/stm/%d", (w+i)%accounts), fmt.Sprintf("/stm/%d", (w+2*i+1)%accounts)
					if from == to {
						continue
					}
					_, err := concurrency.NewSTM(c, func(s concurrency.STM) error {
						a, _ := strconv.Atoi(s.Get(from))
						b, _ := strconv.Atoi(s.Get(to))
						s.Put(from, strconv.Itoa(a-7))
						s.Put(to, strconv.Itoa(b+7))
						return nil
					}, concurrency.WithIsolation(level), concurrency.WithAbortContext(ctx))
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	sum := 0
	for _, x := range get(c.Get(ctx, "/stm/", clientv3.WithPrefix()))(t).Kvs {
		n, _ := strconv.Atoi(string(x.Value))
		sum += n
	}
	equal(t, "sum", sum, accounts*start)
}

func libRecipes(t *testing.T, ctx context.Context, c *clientv3.Client) {
	q := recipe.NewPriorityQueue(c, "/queue")
	for i, v := range []string{"low", "high", "middle"} {
		ok(t, q.Enqueue(v, []uint16{30, 10, 20}[i]))
	}
	for _, want := range []string{"high", "middle", "low"} {
		equal(t, "dequeued", get(q.Dequeue())(t), want)
	}
	b := recipe.NewBarrier(c, "/barrier")
	ok(t, b.Hold())
	passed := make(chan error, 1)
	go func() { passed <- recipe.NewBarrier(c, "/barrier").Wait() }()
	ok(t, b.Release())
	ok(t, <-passed)
	rw := recipe.NewRWMutex(session(t, c), "/rw")
	ok(t, rw.RLock())
	ok(t, rw.RUnlock())
	ok(t, rw.Lock())
	ok(t, rw.Unlock())
}

// libLeasing: a client-side cache that takes keys over by nested transactions, and gives them up when another writes.
func libLeasing(t *testing.T, ctx context.Context, c *clientv3.Client) {
	one, closeOne, err := leasing.NewKV(c, "/leasing/")
	ok(t, err)
	defer closeOne()
	two, closeTwo, err := leasing.NewKV(c, "/leasing/")
	ok(t, err)
	defer closeTwo()
	get(one.Put(ctx, "/lv/a", "1"))(t)
	equal(t, "taken", string(get(one.Get(ctx, "/lv/a"))(t).Kvs[0].Value), "1")
	get(two.Put(ctx, "/lv/a", "2"))(t)
	equal(t, "after another's write", string(get(one.Get(ctx, "/lv/a"))(t).Kvs[0].Value), "2")
	resp := get(two.Txn(ctx).If(clientv3.Compare(clientv3.Value("/lv/a"), "=", "2")).Then(clientv3.OpPut("/lv/a", "3"), clientv3.OpPut("/lv/b", "1")).Commit())(t)
	equal(t, "succeeded", resp.Succeeded, true)
	equal(t, "after another's transaction", string(get(one.Get(ctx, "/lv/a"))(t).Kvs[0].Value), "3")
}

func libNamespace(t *testing.T, ctx context.Context, c *clientv3.Client) {
	kvs := ordering.NewKV(namespace.NewKV(c, "/space/"), func(clientv3.Op, clientv3.OpResponse, int64) error {
		return errors.New("an answer older than one before")
	})
	w := namespace.NewWatcher(c, "/space/")
	defer w.Close()
	lease := namespace.NewLease(c, "/space/")
	granted := get(lease.Grant(ctx, 100))(t)
	rev := get(kvs.Put(ctx, "a", "1", clientv3.WithLease(granted.ID)))(t).Header.Revision
	ch := w.Watch(ctx, "a", clientv3.WithRev(rev))
	equal(t, "event", string((<-ch).Events[0].Kv.Key), "a")
	equal(t, "whole key", get(c.Get(ctx, "/space/a"))(t).Count, 1)
	equal(t, "keys of the lease", string(get(lease.TimeToLive(ctx, granted.ID, clientv3.WithAttachedKeys()))(t).Keys[0]), "a")
	for range 10 {
		get(kvs.Get(ctx, "a"))(t)
	}
}

// libMirror copies a prefix in pages and follows it.
func libMirror(t *testing.T, ctx context.Context, c *clientv3.Client) {
	const n = 2500 // more than two of the library's pages
	for i := 0; i < n; i += 100 {
		var ops []clientv3.Op
		for k := range 100 {
			ops = append(ops, clientv3.OpPut(fmt.Sprintf("/mirror/%05d", i+k), strconv.Itoa(i+k)))
		}
		get(c.Txn(ctx).Then(ops...).Commit())(t)
	}
	s := mirror.NewSyncer(c, "/mirror/", 0)
	copied := map[string]string{}
	pages, errs := s.SyncBase(ctx)
	get(c.Put(ctx, "/mirror/new", "1"))(t)
	count := 0
	for page := range pages {
		count++
		for _, x := range page.Kvs {
			copied[string(x.Key)] = string(x.Value)
		}
	}
	ok(t, <-errs)
	if len(copied) < n || count < 3 {
		t.Fatalf("%d keys in %d pages", len(copied), count)
	}
	get(c.Delete(ctx, "/mirror/00001"))(t)
	for r := range s.SyncUpdates(ctx) {
		ok(t, r.Err())
		for _, e := range r.Events {
			if e.Type == clientv3.EventTypeDelete {
				equal(t, "deleted", string(e.Kv.Key), "/mirror/00001")
				return
			}
		}
	}
}

// libKubernetes does what an API server does: optimistic writes, lists in pages at one revision, a watch from there.
func libKubernetes(t *testing.T, ctx context.Context, c *clientv3.Client) {
	k := kubernetes.Client{Client: c}
	k.Kubernetes = &k
	var last int64
	for i := range 10 {
		put := get(k.OptimisticPut(ctx, fmt.Sprintf("/registry/pods/%d", i), []byte("v1"), 0, kubernetes.PutOptions{}))(t)
		equal(t, "created", put.Succeeded, true)
		last = put.Revision
	}
	again := get(k.OptimisticPut(ctx, "/registry/pods/3", []byte("v2"), 0, kubernetes.PutOptions{GetOnFailure: true}))(t)
	equal(t, "created twice", again.Succeeded, false)
	update := get(k.OptimisticPut(ctx, "/registry/pods/3", []byte("v2"), again.KV.ModRevision, kubernetes.PutOptions{}))(t)
	equal(t, "updated", update.Succeeded, true)
	stale := get(k.OptimisticDelete(ctx, "/registry/pods/3", again.KV.ModRevision, kubernetes.DeleteOptions{GetOnFailure: true}))(t)
	equal(t, "deleted at an old revision", stale.Succeeded, false)
	equal(t, "what is there", string(stale.KV.Value), "v2")

	var names []string
	opts := kubernetes.ListOptions{Limit: 4}
	for {
		page := get(k.List(ctx, "/registry/pods/", opts))(t)
		if opts.Revision == 0 {
			opts.Revision = page.Revision
			get(k.OptimisticPut(ctx, "/registry/pods/99", []byte("late"), 0, kubernetes.PutOptions{}))(t)
		}
		for _, x := range page.Kvs {
			names = append(names, strings.TrimPrefix(string(x.Key), "/registry/pods/"))
		}
		if int64(len(page.Kvs)) == page.Count {
			break
		}
		opts.Continue = string(page.Kvs[len(page.Kvs)-1].Key) + "\x00"
	}
	equal(t, "listed at one revision", strings.Join(names, ""), "0123456789")
	equal(t, "counted", get(k.Count(ctx, "/registry/pods/", kubernetes.CountOptions{}))(t), 11)
	watch := c.Watch(clientv3.WithRequireLeader(ctx), "/registry/pods/", clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithRev(last+1), clientv3.WithProgressNotify())
	ev := (<-watch).Events
	equal(t, "first event", string(ev[0].Kv.Value), "v2")
	equal(t, "before it", string(ev[0].PrevKv.Value), "v1")
}
