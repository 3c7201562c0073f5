package kvtest

import (
	"bytes"
	"context"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/orrery-io/orrery/services/store/kv"
)

func testTxnIsOneRevision(e *env) {
	before, err := e.kv.Revision(e.ctx)
	e.must(err)
	resp := e.txn(kv.TxnRequest{Then: []kv.Op{put(e.key("a"), "1"), put(e.key("b"), "2"), {Delete: &kv.DeleteRequest{Key: e.key("none")}}}})
	e.equal("succeeded", resp.Succeeded, true)
	e.equal("revision", resp.Revision, before+1)
	e.equal("responses", len(resp.Responses), 3)
	e.equal("deleted", resp.Responses[2].Deleted, int64(0))
	prefix := e.key("")
	for _, x := range e.get(kv.RangeRequest{Key: prefix, End: kv.PrefixEnd(prefix)}).KVs {
		e.equal("mod revision", x.ModRevision, resp.Revision)
	}
}

func testTxnReadsItsOwnWrites(e *env) {
	k := e.key("a")
	e.put(k, "old")
	resp := e.txn(kv.TxnRequest{Then: []kv.Op{
		{Range: &kv.RangeRequest{Key: k}},
		{Put: &kv.PutRequest{Key: k, Value: []byte("new"), PrevKV: true}},
		{Range: &kv.RangeRequest{Key: k}},
	}})
	e.equal("read before the put", string(resp.Responses[0].Range.KVs[0].Value), "old")
	e.equal("previous value", string(resp.Responses[1].PrevKVs[0].Value), "old")
	e.equal("read after the put", string(resp.Responses[2].Range.KVs[0].Value), "new")
	e.equal("its revision", resp.Responses[2].Range.KVs[0].ModRevision, resp.Revision)
}

func testTxnCompare(e *env) {
	k, missing := e.key("a"), e.key("missing")
	create := e.put(k, "v0")
	mod := e.put(k, "v1")
	prefix := e.key("")
	for _, c := range []struct {
		name string
		cmp  kv.Compare
		want bool
	}{
		{"mod equal", kv.Compare{Key: k, Target: kv.CompareMod, Result: kv.Equal, Number: mod}, true},
		{"mod stale", kv.Compare{Key: k, Target: kv.CompareMod, Result: kv.Equal, Number: create}, false},
		{"mod not equal", kv.Compare{Key: k, Target: kv.CompareMod, Result: kv.NotEqual, Number: create}, true},
		{"mod greater", kv.Compare{Key: k, Target: kv.CompareMod, Result: kv.Greater, Number: create}, true},
		{"mod less", kv.Compare{Key: k, Target: kv.CompareMod, Result: kv.Less, Number: create}, false},
		{"create", kv.Compare{Key: k, Target: kv.CompareCreate, Result: kv.Equal, Number: create}, true},
		{"version", kv.Compare{Key: k, Target: kv.CompareVersion, Result: kv.Equal, Number: 2}, true},
		{"lease", kv.Compare{Key: k, Target: kv.CompareLease, Result: kv.Equal, Number: 0}, true},
		{"value", kv.Compare{Key: k, Target: kv.CompareValue, Result: kv.Equal, Value: []byte("v1")}, true},
		{"value less", kv.Compare{Key: k, Target: kv.CompareValue, Result: kv.Less, Value: []byte("v2")}, true},
		{"missing has revision 0", kv.Compare{Key: missing, Target: kv.CompareMod, Result: kv.Equal}, true},
		{"missing has no version", kv.Compare{Key: missing, Target: kv.CompareVersion, Result: kv.Greater}, false},
		{"whole range", kv.Compare{Key: prefix, End: kv.PrefixEnd(prefix), Target: kv.CompareCreate, Result: kv.Greater}, true},
		{"empty range has revision 0", kv.Compare{Key: missing, End: kv.PrefixEnd(missing), Target: kv.CompareMod, Result: kv.Equal}, true},
		{"empty range has no version", kv.Compare{Key: missing, End: kv.PrefixEnd(missing), Target: kv.CompareVersion, Result: kv.Greater}, false},
		{"range with an exception", kv.Compare{Key: prefix, End: kv.PrefixEnd(prefix), Target: kv.CompareMod, Result: kv.Less, Number: mod}, false},
	} {
		resp := e.txn(kv.TxnRequest{Compare: []kv.Compare{c.cmp},
			Then: []kv.Op{{Range: &kv.RangeRequest{Key: k}}},
			Else: []kv.Op{{Range: &kv.RangeRequest{Key: k}}, {Range: &kv.RangeRequest{Key: k}}}})
		e.equal(c.name, resp.Succeeded, c.want)
		if want := map[bool]int{true: 1, false: 2}[c.want]; len(resp.Responses) != want {
			e.Fatalf("%s: %d responses, want %d: the wrong branch ran", c.name, len(resp.Responses), want)
		}
	}
}

func testTxnFailsWhole(e *env) {
	k := e.key("a")
	e.put(k, "before")
	_, err := e.kv.Txn(e.ctx, kv.TxnRequest{Then: []kv.Op{put(k, "after"),
		{Put: &kv.PutRequest{Key: e.key("b"), Lease: 987654321}}}})
	e.wantErr(err, kv.ErrLeaseNotFound)
	e.equal("value", e.value(k), "before")
	_, err = e.kv.Txn(e.ctx, kv.TxnRequest{Then: []kv.Op{put(k, "after"),
		{Put: &kv.PutRequest{Key: e.key("b"), IgnoreValue: true}}}})
	e.wantErr(err, kv.ErrKeyNotFound)
	_, err = e.kv.Txn(e.ctx, kv.TxnRequest{Then: []kv.Op{put(k, "after"),
		{Range: &kv.RangeRequest{Key: k, Revision: 1 << 60}}}})
	e.wantErr(err, kv.ErrFutureRevision)
	e.equal("value", e.value(k), "before")
}

func testTxnWithoutWrite(e *env) {
	rev := e.put(e.key("a"), "1")
	resp := e.txn(kv.TxnRequest{Compare: []kv.Compare{{Key: e.key("a"), Number: rev + 1}},
		Then: []kv.Op{put(e.key("a"), "2")}, Else: []kv.Op{{Range: &kv.RangeRequest{Key: e.key("a")}}}})
	e.equal("succeeded", resp.Succeeded, false)
	e.equal("revision", resp.Revision, rev)
	e.equal("range in else", string(resp.Responses[0].Range.KVs[0].Value), "1")
	e.equal("deleting nothing", e.del(e.key("none")), rev)
	now, err := e.kv.Revision(e.ctx)
	e.must(err)
	e.equal("store's revision", now, rev)
}

func testTxnRejectsBadRequests(e *env) {
	k := e.key("a")
	for name, req := range map[string]kv.TxnRequest{
		"put twice":          {Then: []kv.Op{put(k, "1"), put(k, "2")}},
		"put and delete":     {Then: []kv.Op{put(k, "1"), {Delete: &kv.DeleteRequest{Key: e.key(""), End: kv.PrefixEnd(e.key(""))}}}},
		"empty key":          {Then: []kv.Op{put(nil, "1")}},
		"no operation":       {Then: []kv.Op{{}}},
		"value and ignore":   {Then: []kv.Op{{Put: &kv.PutRequest{Key: k, Value: []byte("x"), IgnoreValue: true}}}},
		"unknown comparison": {Compare: []kv.Compare{{Key: k, Target: 77}}},
	} {
		if _, err := e.kv.Txn(e.ctx, req); err == nil {
			e.Errorf("%s: accepted", name)
		} else {
			e.wantErr(err, kv.ErrInvalid)
		}
	}
	_, err := e.kv.Txn(e.ctx, kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: k, Value: bytes.Repeat([]byte("x"), 5<<20)}}}})
	e.wantErr(err, kv.ErrTooLarge)
	e.equal("value", e.value(k), "-")
}

func testIgnore(e *env) {
	l, err := e.kv.LeaseGrant(e.ctx, 0, 1000)
	e.must(err)
	k := e.key("a")
	e.txn(kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: k, Value: []byte("v"), Lease: l.ID}}}})
	e.txn(kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: k, Value: []byte("w"), IgnoreLease: true}}}})
	got := e.get(kv.RangeRequest{Key: k}).KVs[0]
	e.equal("lease kept", got.Lease, l.ID)
	e.txn(kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: k, IgnoreValue: true}}}})
	got = e.get(kv.RangeRequest{Key: k}).KVs[0]
	e.equal("value kept", string(got.Value), "w")
	e.equal("lease dropped", got.Lease, int64(0))
	e.must(e.kv.LeaseRevoke(e.ctx, l.ID))
	e.equal("key without a lease outlives it", e.value(k), "w")
}

func testDelete(e *env) {
	for i := range 5 {
		e.put(e.key("%d", i), strconv.Itoa(i))
	}
	resp := e.txn(kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: e.key("1"), End: e.key("4"), PrevKV: true}}}})
	e.equal("deleted", resp.Responses[0].Deleted, int64(3))
	e.equal("previous versions", len(resp.Responses[0].PrevKVs), 3)
	e.equal("first of them", string(resp.Responses[0].PrevKVs[0].Value), "1")
	prefix := e.key("")
	e.equal("left", e.get(kv.RangeRequest{Key: prefix, End: kv.PrefixEnd(prefix)}).Count, int64(2))
}

func testConcurrentCAS(e *env) {
	k := e.key("counter")
	e.put(k, "0")
	const workers, each = 6, 10
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for done := 0; done < each; {
				r, err := e.kv.Range(e.ctx, kv.RangeRequest{Key: k})
				if err != nil {
					e.Error(err)
					return
				}
				n, _ := strconv.Atoi(string(r.KVs[0].Value))
				resp, err := e.kv.Txn(e.ctx, kv.TxnRequest{
					Compare: []kv.Compare{{Key: k, Target: kv.CompareMod, Number: r.KVs[0].ModRevision}},
					Then:    []kv.Op{put(k, strconv.Itoa(n+1))},
				})
				if err != nil {
					e.Error(err)
					return
				}
				if resp.Succeeded {
					done++
				}
			}
		})
	}
	wg.Wait()
	e.equal("counter", e.value(k), strconv.Itoa(workers*each))
}

func testReadsSeeWrites(e *env) {
	k := e.key("a")
	for i := range 20 {
		rev := e.put(k, strconv.Itoa(i))
		e.equal("read after write", e.value(k), strconv.Itoa(i))
		now, err := e.kv.Revision(e.ctx)
		e.must(err)
		e.equal("revision after write", now >= rev, true)
	}
}

func testCancelledContext(e *env) {
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := e.kv.Txn(ctx, kv.TxnRequest{Then: []kv.Op{put(e.key("a"), "1")}})
	e.wantErr(err, context.Canceled)
	_, err = e.kv.Range(ctx, kv.RangeRequest{Key: e.key("a")})
	e.wantErr(err, context.Canceled)
	_, err = e.kv.Revision(ctx)
	e.wantErr(err, context.Canceled)
}

func testTraceParent(e *env) {
	const given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w := e.watch(kv.WatchRequest{Key: e.key("a")})
	e.txn(kv.TxnRequest{TraceParent: given, Then: []kv.Op{put(e.key("a"), "1")}})
	e.equal("stored", e.get(kv.RangeRequest{Key: e.key("a")}).KVs[0].TraceParent, given)
	e.equal("in the event", e.next(w, 1)[0].KV.TraceParent, given)

	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	_, err := e.kv.Txn(trace.ContextWithSpanContext(e.ctx, sc), kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: e.key("a")}}}})
	e.must(err)
	e.equal("of the context, on a deletion", e.next(w, 1)[0].KV.TraceParent, "00-01000000000000000000000000000000-0200000000000000-01")
}
