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
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLibrary runs the client library's own calls against one member.
func TestLibrary(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	for name, fn := range map[string]func(*testing.T, context.Context, *clientv3.Client){
		"Filters": libFilters, "Errors": libErrors, "NestedTxn": libNestedTxn, "RangeStream": libRangeStream,
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
