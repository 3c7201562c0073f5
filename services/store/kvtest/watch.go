package kvtest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/orrery-io/orrery/services/store/kv"
)

func (e *env) prefixWatch() kv.WatchRequest {
	return kv.WatchRequest{Key: e.key(""), End: kv.PrefixEnd(e.key(""))}
}

func testWatchLive(e *env) {
	e.put(e.key("before"), "x")
	w := e.watch(e.prefixWatch())
	r1 := e.put(e.key("a"), "1")
	e.put([]byte("/elsewhere/"+e.Name()), "x")
	r2 := e.put(e.key("a"), "2")
	r3 := e.del(e.key("a"))
	ev := e.next(w, 3)
	e.equal("first", ev[0].KV.ModRevision, r1)
	e.equal("first type", ev[0].Type, kv.EventPut)
	e.equal("first version", ev[0].KV.Version, int64(1))
	e.equal("second", string(ev[1].KV.Value), "2")
	e.equal("second revision", ev[1].KV.ModRevision, r2)
	e.equal("third type", ev[2].Type, kv.EventDelete)
	e.equal("third key", string(ev[2].KV.Key), string(e.key("a")))
	e.equal("third revision", ev[2].KV.ModRevision, r3)
	// A watcher can read what it was told.
	e.equal("deleted", e.value(e.key("a")), "-")
}

func testWatchFromRevision(e *env) {
	var revs []int64
	for i := range 10 {
		revs = append(revs, e.put(e.key("%d", i), strconv.Itoa(i)))
	}
	req := e.prefixWatch()
	req.StartRevision = revs[4]
	w := e.watch(req)
	for i := 10; i < 15; i++ {
		e.put(e.key("%d", i), strconv.Itoa(i))
	}
	for i, ev := range e.next(w, 11) {
		e.equal("event", string(ev.KV.Value), strconv.Itoa(i+4))
	}
}

func testWatchWholeRevisions(e *env) {
	start := e.put(e.key("start"), "")
	const revisions, keys = 20, 100
	write := func(i int) {
		var ops []kv.Op
		for k := range keys {
			ops = append(ops, put(e.key("%d", k), strconv.Itoa(i)))
		}
		e.txn(kv.TxnRequest{Then: ops})
	}
	req := e.prefixWatch()
	req.StartRevision = start + 1
	for i := range revisions / 2 {
		write(i)
	}
	w := e.watch(req)
	var wg sync.WaitGroup
	// Whatever fails, the writer ends before the test does.
	defer wg.Wait()
	wg.Go(func() {
		for i := revisions / 2; i < revisions; i++ {
			write(i)
		}
	})
	ev := e.next(w, revisions*keys) // next fails on a split revision
	wg.Wait()
	for i := range revisions {
		for k := range keys {
			if string(ev[i*keys+k].KV.Value) != strconv.Itoa(i) || ev[i*keys+k].KV.ModRevision != ev[i*keys].KV.ModRevision {
				e.Fatalf("event %d of revision %d is out of place", k, i)
			}
		}
	}
	// The order within a revision is the order of the operations.
	e.equal("second event", string(ev[1].KV.Key), string(e.key("1")))
}

func testWatchFilters(e *env) {
	single := e.watch(kv.WatchRequest{Key: e.key("a")})
	noPut, noDelete := e.prefixWatch(), e.prefixWatch()
	noPut.NoPut, noDelete.NoDelete = true, true
	deletions, puts := e.watch(noPut), e.watch(noDelete)
	ranged := e.watch(kv.WatchRequest{Key: e.key("b"), End: e.key("d")})
	for _, k := range []string{"aa", "a", "b", "c", "d"} {
		e.put(e.key("%s", k), k)
	}
	e.del(e.key("c"))
	e.equal("single key", string(e.next(single, 1)[0].KV.Value), "a")
	e.equal("deletions", string(e.next(deletions, 1)[0].KV.Key), string(e.key("c")))
	e.equal("puts", string(e.next(puts, 5)[4].KV.Value), "d")
	ev := e.next(ranged, 3)
	e.equal("range", string(ev[0].KV.Value)+string(ev[1].KV.Value), "bc")
	e.equal("range deletion", ev[2].Type, kv.EventDelete)
}

func testWatchPrev(e *env) {
	req := e.prefixWatch()
	req.PrevKV = true
	w := e.watch(req)
	e.put(e.key("a"), "1")
	e.put(e.key("a"), "2")
	e.del(e.key("a"))
	ev := e.next(w, 3)
	e.equal("creation has none", ev[0].PrevKV == nil, true)
	e.equal("update", string(ev[1].PrevKV.Value), "1")
	e.equal("deletion", string(ev[2].PrevKV.Value), "2")
}

func testWatchProgress(e *env) {
	w := e.watch(e.prefixWatch())
	rev := e.put(e.key("a"), "1")
	other := e.put([]byte("/elsewhere/"+e.Name()), "x")
	seen := false
	// A member that is behind says how far it is; asking again gets there.
	for last := int64(0); last < other; {
		e.must(w.RequestProgress())
		resp, err := w.Next(e.ctx)
		e.must(err)
		if len(resp.Events) > 0 {
			e.equal("event", resp.Events[0].KV.ModRevision, rev)
			seen = true
			continue
		}
		if resp.Revision < last {
			e.Fatalf("progress went back from %d to %d", last, resp.Revision)
		}
		last = resp.Revision
		if last >= rev {
			e.equal("event before the notice that covers it", seen, true)
		}
	}
}

func testWatchFuture(e *env) {
	rev := e.put(e.key("a"), "1")
	req := e.prefixWatch()
	req.StartRevision = rev + 3
	w := e.watch(req)
	for i := 2; i <= 5; i++ {
		e.put(e.key("a"), strconv.Itoa(i))
	}
	e.equal("first event", string(e.next(w, 2)[0].KV.Value), "4")
}

func testWatchCompacted(e *env) {
	r1 := e.put(e.key("a"), "1")
	e.put(e.key("b"), "1")
	r3 := e.del(e.key("b"))
	r4 := e.put(e.key("a"), "2")
	e.must(e.kv.Compact(e.ctx, r3))
	// A member that has not heard of the compaction may still serve what it has; after this one it has heard.
	_, err := e.kv.Revision(e.ctx)
	e.must(err)
	req := e.prefixWatch()
	req.StartRevision = r1
	w, err := e.kv.Watch(e.ctx, req)
	if err == nil {
		defer w.Close()
		_, err = w.Next(e.ctx)
	}
	e.wantErr(err, kv.ErrCompacted)
	req.StartRevision = r3
	ev := e.next(e.watch(req), 2)
	e.equal("deletion at the compaction point", ev[0].Type, kv.EventDelete)
	e.equal("after it", ev[1].KV.ModRevision, r4)
}

func testSlowWatcher(e *env) {
	w := e.watch(e.prefixWatch())
	fast := e.watch(e.prefixWatch())
	const n = 1200 // more than any watcher's list or window holds
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := range n / 8 {
				if _, err := e.kv.Txn(e.ctx, kv.TxnRequest{Then: []kv.Op{put(e.key("%d-%d", part, i), "x")}}); err != nil {
					e.Error(err)
					return
				}
			}
		})
	}
	e.next(fast, n)
	wg.Wait()
	seen := map[string]bool{}
	for _, ev := range e.next(w, n) {
		seen[string(ev.KV.Key)] = true
	}
	e.equal("different keys", len(seen), n)
}

func testWatchClose(e *env) {
	w := e.watch(e.prefixWatch())
	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	_, err := w.Next(ctx)
	e.wantErr(err, context.Canceled)
	// A cancelled Next does not end the watch.
	e.put(e.key("a"), "1")
	e.next(w, 1)
	done := make(chan error, 1)
	go func() {
		_, err := w.Next(e.ctx)
		done <- err
	}()
	w.Close()
	e.wantErr(<-done, kv.ErrClosed)
	w.Close()
}

// testWatchLarge: one revision larger than a message of the transport is still one response.
func testWatchLarge(e *env) {
	value := bytes.Repeat([]byte("x"), 1<<20)
	for i := range 6 {
		e.put(e.key("%02d", i), string(value))
	}
	req := e.prefixWatch()
	req.PrevKV = true
	w := e.watch(req)
	e.txn(kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: req.Key, End: req.End}}}})
	resp, err := w.Next(e.ctx)
	e.must(err)
	e.equal("events", len(resp.Events), 6)
	e.equal("previous value", len(resp.Events[5].PrevKV.Value), len(value))
}

func testManyWatchers(e *env) {
	const n = 100
	var ws []kv.Watcher
	for i := range n {
		ws = append(ws, e.watch(kv.WatchRequest{Key: e.key("%d/", i), End: kv.PrefixEnd(e.key("%d/", i))}))
	}
	for i := range n {
		e.put(e.key("%d/x", i), strconv.Itoa(i))
	}
	for i, w := range ws {
		e.equal("event", string(e.next(w, 1)[0].KV.Value), strconv.Itoa(i))
	}
}

func testLeases(e *env) {
	if !slices.Contains(e.lacks, NoTTLCheck) {
		_, err := e.kv.LeaseGrant(e.ctx, 0, 0)
		e.wantErr(err, kv.ErrInvalid)
	}
	l, err := e.kv.LeaseGrant(e.ctx, 0, 600)
	e.must(err)
	e.equal("id chosen", l.ID != 0, true)
	e.equal("time to live", l.GrantedTTL, int64(600))
	_, err = e.kv.LeaseGrant(e.ctx, l.ID, 600)
	e.wantErr(err, kv.ErrLeaseExists)
	kept, err := e.kv.LeaseKeepAlive(e.ctx, l.ID)
	e.must(err)
	e.equal("kept alive", kept, kv.Lease{ID: l.ID, TTL: 600, GrantedTTL: 600})

	for _, k := range []string{"b", "a", "moved"} {
		e.txn(kv.TxnRequest{Then: []kv.Op{{Put: &kv.PutRequest{Key: e.key("%s", k), Value: []byte(k), Lease: l.ID}}}})
	}
	e.equal("lease of a key", e.get(kv.RangeRequest{Key: e.key("a")}).KVs[0].Lease, l.ID)
	e.put(e.key("moved"), "free")
	w := e.watch(e.prefixWatch())
	e.must(e.kv.LeaseRevoke(e.ctx, l.ID))
	ev := e.next(w, 2)
	e.equal("keys go in one revision", ev[0].KV.ModRevision, ev[1].KV.ModRevision)
	e.equal("in order", string(ev[0].KV.Key), string(e.key("a")))
	e.equal("moved key stays", e.value(e.key("moved")), "free")

	_, err = e.kv.LeaseKeepAlive(e.ctx, l.ID)
	e.wantErr(err, kv.ErrLeaseNotFound)
	err = e.kv.LeaseRevoke(e.ctx, l.ID)
	e.wantErr(err, kv.ErrLeaseNotFound)
	var expired *kv.ExpiredError
	e.equal("not an expiry of a watch", errors.As(err, &expired), false)
}
