package kvtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
)

// New makes an empty store for one test; it registers its own cleanup.
type New func(t *testing.T) kv.KV

// Lack is something that an implementation over another protocol cannot have. It is declared, so that what is left out
// is seen where the suite is run.
type Lack int

// What may be lacking.
const (
	// NoTraceParent: the protocol has no place for the trace context of a write.
	NoTraceParent Lack = iota
	// NoTTLCheck: a lease without a time to live is granted with a short one.
	NoTTLCheck
)

type env struct {
	*testing.T
	kv    kv.KV
	ctx   context.Context
	lacks []Lack
}

// Run runs the suite. Tests use keys of their own and take revisions as they find them, so new may return the same
// store each time, unless a test before compacted it; the suite itself never reads behind its own compactions. What the
// implementation lacks is left out.
func Run(t *testing.T, newKV New, lacks ...Lack) {
	for _, c := range []struct {
		name string
		fn   func(*env)
	}{
		{"PutAndGet", testPutAndGet},
		{"RangeOrderLimitCount", testRangeOrderLimitCount},
		{"RangeBounds", testRangeBounds},
		{"RangeAtRevision", testRangeAtRevision},
		{"TxnIsOneRevision", testTxnIsOneRevision},
		{"TxnReadsItsOwnWrites", testTxnReadsItsOwnWrites},
		{"TxnCompare", testTxnCompare},
		{"TxnFailsWhole", testTxnFailsWhole},
		{"TxnWithoutWriteTakesNoRevision", testTxnWithoutWrite},
		{"TxnRejectsBadRequests", testTxnRejectsBadRequests},
		{"IgnoreValueAndLease", testIgnore},
		{"Delete", testDelete},
		{"ConcurrentCompareAndSwap", testConcurrentCAS},
		{"ReadsSeeAcknowledgedWrites", testReadsSeeWrites},
		{"CancelledContext", testCancelledContext},
		{"TraceParent", testTraceParent},
		{"Compact", testCompact},
		{"WatchLive", testWatchLive},
		{"WatchFromRevision", testWatchFromRevision},
		{"WatchNeverSplitsARevision", testWatchWholeRevisions},
		{"WatchSingleKeyAndFilters", testWatchFilters},
		{"WatchPrevKV", testWatchPrev},
		{"WatchProgressOnRequest", testWatchProgress},
		{"WatchFutureRevision", testWatchFuture},
		{"WatchCompacted", testWatchCompacted},
		{"SlowWatcherMissesNothing", testSlowWatcher},
		{"WatchClose", testWatchClose},
		{"WatchLargeRevision", testWatchLarge},
		{"ManyWatchers", testManyWatchers},
		{"Leases", testLeases},
	} {
		if c.name == "TraceParent" && slices.Contains(lacks, NoTraceParent) {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			t.Cleanup(cancel)
			c.fn(&env{T: t, kv: newKV(t), ctx: ctx, lacks: lacks})
		})
	}
}

// key returns a key under a prefix that only this test uses.
func (e *env) key(format string, args ...any) []byte {
	return []byte("/" + e.Name() + "/" + fmt.Sprintf(format, args...))
}

func (e *env) put(key []byte, value string) int64 {
	e.Helper()
	return e.txn(kv.TxnRequest{Then: []kv.Op{put(key, value)}}).Revision
}

func (e *env) del(key []byte) int64 {
	e.Helper()
	return e.txn(kv.TxnRequest{Then: []kv.Op{{Delete: &kv.DeleteRequest{Key: key}}}}).Revision
}

func put(key []byte, value string) kv.Op {
	return kv.Op{Put: &kv.PutRequest{Key: key, Value: []byte(value)}}
}

func (e *env) txn(req kv.TxnRequest) *kv.TxnResponse {
	e.Helper()
	resp, err := e.kv.Txn(e.ctx, req)
	e.must(err)
	return resp
}

func (e *env) get(req kv.RangeRequest) *kv.RangeResponse {
	e.Helper()
	resp, err := e.kv.Range(e.ctx, req)
	e.must(err)
	return resp
}

// value reads one key; missing keys read as "-".
func (e *env) value(key []byte) string {
	e.Helper()
	resp := e.get(kv.RangeRequest{Key: key})
	if len(resp.KVs) == 0 {
		return "-"
	}
	return string(resp.KVs[0].Value)
}

func (e *env) watch(req kv.WatchRequest) kv.Watcher {
	e.Helper()
	w, err := e.kv.Watch(e.ctx, req)
	e.must(err)
	e.Cleanup(w.Close)
	return w
}

// next reads events until there are n of them, and checks that revisions come whole and in order.
func (e *env) next(w kv.Watcher, n int) []kv.Event {
	e.Helper()
	var events []kv.Event
	last := int64(0)
	for len(events) < n {
		resp, err := w.Next(e.ctx)
		e.must(err)
		for i, ev := range resp.Events {
			if ev.KV.ModRevision < last || (i == 0 && ev.KV.ModRevision == last) {
				e.Fatalf("revision %d was delivered after %d, or split over two responses", ev.KV.ModRevision, last)
			}
			last = ev.KV.ModRevision
			if last > resp.Revision {
				e.Fatalf("a response up to revision %d has an event of revision %d", resp.Revision, last)
			}
		}
		events = append(events, resp.Events...)
	}
	if len(events) != n {
		e.Fatalf("%d events, want %d", len(events), n)
	}
	return events
}

func (e *env) must(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

func (e *env) wantErr(err, want error) {
	e.Helper()
	if !errors.Is(err, want) {
		e.Fatalf("error %v, want %v", err, want)
	}
}

func (e *env) equal(what string, got, want any) {
	e.Helper()
	if got != want {
		e.Fatalf("%s: %v, want %v", what, got, want)
	}
}
