package etcdtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/clientv3util"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.etcd.io/etcd/client/v3/leasing"
	"go.etcd.io/etcd/client/v3/mirror"
	"go.etcd.io/etcd/client/v3/namespace"
	"go.etcd.io/etcd/client/v3/ordering"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLibraries runs what etcd's client library brings along to build on, against one member.
func TestLibraries(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, fn := range map[string]func(*testing.T, context.Context, *clientv3.Client){
		"Filters": libFilters, "Errors": libErrors, "NestedTxn": libNestedTxn, "RangeStream": libRangeStream, "Mutex": libMutex, "Election": libElection,
		"STM": libSTM, "Recipes": libRecipes, "Leasing": libLeasing, "NamespaceAndOrdering": libNamespace, "Mirror": libMirror, "Kubernetes": libKubernetes,
	} {
		t.Run(name, func(t *testing.T) { fn(t, limited(t), c.client(t)) })
	}
}

func libFilters(t *testing.T, ctx context.Context, c *clientv3.Client) {
	var revs []int64
	for _, k := range []string{"a", "b", "c", "d"} {
		revs = append(revs, get(c.Put(ctx, "/f/"+k, k))(t).Header.Revision)
	}
	changed := get(c.Put(ctx, "/f/b", "bb"))(t).Header.Revision
	keys := func(opts ...clientv3.OpOption) string {
		t.Helper()
		resp := get(c.Get(ctx, "/f/", append(opts, clientv3.WithPrefix())...))(t)
		out := fmt.Sprintf("%d/%v:", resp.Count, resp.More)
		for _, x := range resp.Kvs {
			out += string(x.Key[3:])
		}
		return out
	}
	for _, x := range []struct{ name, got, want string }{
		{"min mod", keys(clientv3.WithMinModRev(changed)), "4/false:b"},
		{"max mod", keys(clientv3.WithMaxModRev(revs[2])), "4/false:ac"},
		{"min create", keys(clientv3.WithMinCreateRev(revs[2])), "4/false:cd"},
		{"max create", keys(clientv3.WithMaxCreateRev(revs[1])), "4/false:ab"},
		{"filter and limit", keys(clientv3.WithMinCreateRev(revs[1]), clientv3.WithLimit(2)), "4/true:bc"},
		{"by version, down", keys(clientv3.WithSort(clientv3.SortByVersion, clientv3.SortDescend), clientv3.WithLimit(1)), "4/true:b"},
		{"by key, down", keys(clientv3.WithSort(clientv3.SortByKey, clientv3.SortDescend)), "4/false:dcba"},
		{"by value, keys only", keys(clientv3.WithSort(clientv3.SortByValue, clientv3.SortDescend), clientv3.WithKeysOnly(), clientv3.WithLimit(3)), "4/true:dcb"},
		{"at an old revision", keys(clientv3.WithRev(revs[1])), "2/false:ab"},
		{"count", keys(clientv3.WithCountOnly()), "4/false:"},
		{"last created", keys(clientv3.WithLastCreate()...), "4/true:d"},
		{"last changed", keys(clientv3.WithLastRev()...), "4/true:b"},
	} {
		equal(t, x.name, x.got, x.want)
	}
	old := get(c.Get(ctx, "/f/", clientv3.WithPrefix(), clientv3.WithRev(revs[0])))(t)
	equal(t, "the header of a read in the past is of now", old.Header.Revision, changed)
	none := get(c.Delete(ctx, "/f/none"))(t)
	equal(t, "deleting nothing takes no revision", none.Header.Revision, changed)
	one := get(c.Delete(ctx, "/f/a", clientv3.WithPrevKV()))(t)
	equal(t, "revision of a deletion", one.Header.Revision, changed+1)
	equal(t, "deleted version", one.PrevKvs[0].ModRevision, revs[0])
}

func libErrors(t *testing.T, ctx context.Context, c *clientv3.Client) {
	big := strings.Repeat("x", 5<<20)
	many := make([]clientv3.Op, 5000)
	for i := range many {
		many[i] = clientv3.OpPut("/e/"+strconv.Itoa(i), "")
	}
	txn := func(ops ...clientv3.Op) error { _, err := c.Txn(ctx).Then(ops...).Commit(); return err }
	do := func(op clientv3.Op) error { _, err := c.Do(ctx, op); return err }
	for name, x := range map[string]struct{ got, want error }{
		"empty key":        {do(clientv3.OpPut("", "x")), rpctypes.ErrEmptyKey},
		"empty key, get":   {do(clientv3.OpGet("")), rpctypes.ErrEmptyKey},
		"too large":        {do(clientv3.OpPut("/e/big", big)), rpctypes.ErrRequestTooLarge},
		"too many":         {txn(many...), rpctypes.ErrTooManyOps},
		"twice":            {txn(clientv3.OpPut("/e/a", "1"), clientv3.OpPut("/e/a", "2")), rpctypes.ErrDuplicateKey},
		"put and deleted":  {txn(clientv3.OpDelete("/e/", clientv3.WithPrefix()), clientv3.OpPut("/e/a", "2")), rpctypes.ErrDuplicateKey},
		"no lease":         {do(clientv3.OpPut("/e/a", "1", clientv3.WithLease(4711))), rpctypes.ErrLeaseNotFound},
		"value given":      {do(clientv3.OpPut("/e/a", "1", clientv3.WithIgnoreValue())), rpctypes.ErrValueProvided},
		"lease given":      {do(clientv3.OpPut("/e/a", "1", clientv3.WithIgnoreLease(), clientv3.WithLease(4711))), rpctypes.ErrLeaseProvided},
		"no key to keep":   {do(clientv3.OpPut("/e/none", "", clientv3.WithIgnoreValue())), rpctypes.ErrKeyNotFound},
		"future":           {do(clientv3.OpGet("/e/a", clientv3.WithRev(1<<40))), rpctypes.ErrFutureRev},
		"future in a txn":  {txn(clientv3.OpPut("/e/a", "1"), clientv3.OpGet("/e/a", clientv3.WithRev(1<<40))), rpctypes.ErrFutureRev},
		"lease for longer": {func() error { _, err := c.Grant(ctx, 10_000_000_000); return err }(), rpctypes.ErrLeaseTTLTooLarge},
	} {
		if !errors.Is(x.got, x.want) {
			t.Errorf("%s: %v, want %v", name, x.got, x.want)
		}
	}
	equal(t, "nothing was written", get(c.Get(ctx, "/e/", clientv3.WithPrefix()))(t).Count, 0)
	equal(t, "a lease lives for a second at least", get(c.Grant(ctx, 0))(t).TTL, 1)
	left := get(c.TimeToLive(ctx, 4711))(t)
	equal(t, "what is left of no lease", left.TTL, -1)
}

// libNestedTxn: conditions inside look at the state before the transaction, branches run accordingly, and concurrent
// ones do not lose each other's writes.
func libNestedTxn(t *testing.T, ctx context.Context, c *clientv3.Client) {
	get(c.Put(ctx, "/n/a", "1"))(t)
	inner := clientv3.OpTxn(
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value("/n/a"), "=", "1"), clientv3.Compare(clientv3.Version("/n/").WithPrefix(), ">", 0)},
		[]clientv3.Op{clientv3.OpPut("/n/b", "then"), clientv3.OpGet("/n/b"),
			clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.Value("/n/none"), "!=", "x")}, nil, []clientv3.Op{clientv3.OpPut("/n/c", "deep")})},
		[]clientv3.Op{clientv3.OpPut("/n/b", "else")})
	run := func() *clientv3.TxnResponse {
		t.Helper()
		return get(c.Txn(ctx).If(clientv3util.KeyExists("/n/a")).Then(clientv3.OpPut("/n/a", "2"), inner).Else(clientv3.OpGet("/n/a")).Commit())(t)
	}
	resp := run()
	equal(t, "succeeded", resp.Succeeded, true)
	in := resp.Responses[1].GetResponseTxn()
	equal(t, "inner", in.Succeeded, true)
	equal(t, "read inside", string(in.Responses[1].GetResponseRange().Kvs[0].Value), "then")
	equal(t, "innermost", in.Responses[2].GetResponseTxn().Succeeded, false)
	for _, x := range get(c.Get(ctx, "/n/", clientv3.WithPrefix()))(t).Kvs {
		equal(t, "revision of "+string(x.Key), x.ModRevision, resp.Header.Revision)
	}
	equal(t, "inner, the second time", run().Responses[1].GetResponseTxn().Succeeded, false)
	equal(t, "else", string(get(c.Get(ctx, "/n/b"))(t).Kvs[0].Value), "else")

	const workers, each = 4, 8
	get(c.Put(ctx, "/n/count", "0"))(t)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done := 0; done < each; {
				have, err := c.Get(ctx, "/n/count")
				if err != nil {
					t.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(have.Kvs[0].Value))
				same := clientv3.Compare(clientv3.Value("/n/count"), "=", strconv.Itoa(n))
				resp, err := c.Txn(ctx).Then(clientv3.OpTxn([]clientv3.Cmp{same}, []clientv3.Op{clientv3.OpPut("/n/count", strconv.Itoa(n+1))}, nil)).Commit()
				if err != nil {
					t.Error(err)
					return
				}
				if resp.Responses[0].GetResponseTxn().Succeeded {
					done++
				}
			}
		})
	}
	wg.Wait()
	equal(t, "count", string(get(c.Get(ctx, "/n/count"))(t).Kvs[0].Value), strconv.Itoa(workers*each))

	_, err := c.Txn(ctx).Then(clientv3.OpPut("/n/a", "x"), clientv3.OpTxn(nil, []clientv3.Op{clientv3.OpPut("/n/a", "y")}, nil)).Commit()
	if !errors.Is(err, rpctypes.ErrDuplicateKey) {
		t.Fatalf("a key put outside and inside: %v", err)
	}
}

func libRangeStream(t *testing.T, ctx context.Context, c *clientv3.Client) {
	value := strings.Repeat("x", 400<<10)
	for i := range 8 {
		get(c.Put(ctx, fmt.Sprintf("/s/%d", i), value))(t)
	}
	stream, err := pb.NewKVClient(c.ActiveConnection()).RangeStream(ctx, &pb.RangeRequest{Key: []byte("/s/"), RangeEnd: []byte("/s0"), SortOrder: pb.RangeRequest_DESCEND})
	ok(t, err)
	messages, keys := 0, ""
	var last *pb.RangeResponse
	for {
		m, err := stream.Recv()
		if err != nil {
			break
		}
		messages++
		last = m.RangeResponse
		for _, x := range last.Kvs {
			keys += string(x.Key[3:])
		}
	}
	equal(t, "keys", keys, "76543210")
	equal(t, "count in the last", last.GetCount(), 8)
	if messages < 3 || last.GetHeader().GetRevision() == 0 {
		t.Fatalf("%d messages, the last with header %v", messages, last.GetHeader())
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

// TestAuthorization: who may not use the store may not use it in etcd's words either.
func TestAuthorization(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cli, ctx := c.clientAs(t, c.certs.stranger), limited(t)
	for name, call := range map[string]func() error{
		"get":      func() error { _, err := cli.Get(ctx, "/a"); return err },
		"put":      func() error { _, err := cli.Put(ctx, "/a", ""); return err },
		"members":  func() error { _, err := cli.MemberList(ctx); return err },
		"snapshot": func() error { _, err := cli.SnapshotWithVersion(ctx); return err },
		"watch":    func() error { r := <-cli.Watch(ctx, "/a"); return r.Err() },
	} {
		if err := call(); status.Code(err) != codes.PermissionDenied && !errors.Is(err, rpctypes.ErrPermissionDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
