package kvtest

import (
	"github.com/orrery-io/orrery/services/store/kv"
)

func testPutAndGet(e *env) {
	k := e.key("a")
	r1 := e.put(k, "1")
	r2 := e.put(k, "2")
	e.equal("revision of the second put", r2 > r1, true)
	resp := e.get(kv.RangeRequest{Key: k})
	e.equal("keys", len(resp.KVs), 1)
	got := resp.KVs[0]
	e.equal("key", string(got.Key), string(k))
	e.equal("value", string(got.Value), "2")
	e.equal("create revision", got.CreateRevision, r1)
	e.equal("mod revision", got.ModRevision, r2)
	e.equal("version", got.Version, int64(2))
	e.equal("response revision", resp.Revision >= r2, true)
	e.equal("missing key", e.get(kv.RangeRequest{Key: e.key("missing")}).Count, int64(0))
	e.put(e.key("empty"), "")
	e.equal("empty value", e.value(e.key("empty")), "")
}

func testRangeOrderLimitCount(e *env) {
	for _, k := range []string{"c", "a", "e", "b", "d"} {
		e.put(e.key("%s", k), k)
	}
	prefix := e.key("")
	all := kv.RangeRequest{Key: prefix, End: kv.PrefixEnd(prefix)}
	resp := e.get(all)
	got := ""
	for _, x := range resp.KVs {
		got += string(x.Value)
	}
	e.equal("order", got, "abcde")
	e.equal("more", resp.More, false)

	limited := all
	limited.Limit = 2
	resp = e.get(limited)
	e.equal("limited keys", len(resp.KVs), 2)
	e.equal("limited count", resp.Count, int64(5))
	e.equal("limited more", resp.More, true)

	// The next page starts after the last key, at the revision of the first.
	e.put(e.key("bb"), "x")
	next := limited
	next.Key, next.Revision = append(append([]byte{}, resp.KVs[1].Key...), 0), resp.Revision
	resp = e.get(next)
	e.equal("second page", string(resp.KVs[0].Value)+string(resp.KVs[1].Value), "cd")
	e.equal("second page revision", resp.Revision, next.Revision)

	counted := all
	counted.CountOnly = true
	resp = e.get(counted)
	e.equal("count only", resp.Count, int64(6))
	e.equal("count only keys", len(resp.KVs), 0)

	keys := all
	keys.KeysOnly, keys.Serializable = true, true
	resp = e.get(keys)
	for _, x := range resp.KVs {
		e.equal("value of keys only", len(x.Value), 0)
		e.equal("revision of keys only", x.ModRevision > 0, true)
	}
}

func testRangeBounds(e *env) {
	for _, k := range []string{"a", "b", "b\x00", "b\xff", "c"} {
		e.put(e.key("%s", k), k)
	}
	count := func(key, end []byte) int64 { return e.get(kv.RangeRequest{Key: key, End: end}).Count }
	e.equal("[b, c)", count(e.key("b"), e.key("c")), int64(3))
	e.equal("[b, b)", count(e.key("b"), e.key("b")), int64(0))
	e.equal("prefix b", count(e.key("b"), kv.PrefixEnd(e.key("b"))), int64(3))
	e.equal("everything from c on", count(e.key("c"), []byte{0}) >= 1, true)
	e.equal("everything", count(nil, kv.PrefixEnd(nil)) >= 5, true)
	e.equal("binary key", e.value(e.key("b\xff")), "b\xff")
}

func testRangeAtRevision(e *env) {
	k := e.key("a")
	r1 := e.put(k, "1")
	r2 := e.put(k, "2")
	r3 := e.del(k)
	r4 := e.put(k, "4")
	at := func(rev int64) string {
		resp := e.get(kv.RangeRequest{Key: k, Revision: rev})
		e.equal("response revision", resp.Revision, rev)
		if len(resp.KVs) == 0 {
			return "-"
		}
		return string(resp.KVs[0].Value)
	}
	e.equal("at r1", at(r1), "1")
	e.equal("at r2", at(r2), "2")
	e.equal("at r3", at(r3), "-")
	e.equal("at r4", at(r4), "4")
	now := e.get(kv.RangeRequest{Key: k}).KVs[0]
	e.equal("create revision after a deletion", now.CreateRevision, r4)
	e.equal("version after a deletion", now.Version, int64(1))
	_, err := e.kv.Range(e.ctx, kv.RangeRequest{Key: k, Revision: r4 + 1_000_000})
	e.wantErr(err, kv.ErrFutureRevision)
}

func testCompact(e *env) {
	a, b := e.key("a"), e.key("b")
	e.put(a, "1")
	e.put(b, "1")
	r3 := e.put(a, "2")
	r4 := e.del(b)
	r5 := e.put(a, "3")
	e.must(e.kv.Compact(e.ctx, r4))
	_, err := e.kv.Range(e.ctx, kv.RangeRequest{Key: a, Revision: r3})
	e.wantErr(err, kv.ErrCompacted)
	e.equal("at the compaction point", string(e.get(kv.RangeRequest{Key: a, Revision: r4}).KVs[0].Value), "2")
	e.equal("deleted at the compaction point", e.get(kv.RangeRequest{Key: b, Revision: r4}).Count, int64(0))
	e.equal("after it", string(e.get(kv.RangeRequest{Key: a, Revision: r5}).KVs[0].Value), "3")
	e.equal("newest", e.value(a), "3")
	e.wantErr(e.kv.Compact(e.ctx, r4), kv.ErrCompacted)
	e.wantErr(e.kv.Compact(e.ctx, r5+1_000_000), kv.ErrFutureRevision)
	// What was deleted before the compaction point can come back.
	r6 := e.put(b, "again")
	e.must(e.kv.Compact(e.ctx, r6))
	e.equal("again", e.value(b), "again")
	e.equal("version", e.get(kv.RangeRequest{Key: b}).KVs[0].Version, int64(1))
}
