package etcdtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/orrery-io/orrery/services/store"
)

// stream is a watch stream without the library, to see each message.
type stream struct {
	t *testing.T
	grpc.BidiStreamingClient[pb.WatchRequest, pb.WatchResponse]
}

func openStream(t *testing.T, ctx context.Context, c *clientv3.Client) stream {
	t.Helper()
	s, err := pb.NewWatchClient(c.ActiveConnection()).Watch(ctx)
	ok(t, err)
	return stream{t, s}
}

func (s stream) create(r *pb.WatchCreateRequest) {
	s.t.Helper()
	ok(s.t, s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}))
}

func (s stream) cancel(id int64) {
	s.t.Helper()
	ok(s.t, s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{CancelRequest: &pb.WatchCancelRequest{WatchId: id}}}))
}

func (s stream) progress() {
	s.t.Helper()
	ok(s.t, s.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}}))
}

func (s stream) next() *pb.WatchResponse {
	s.t.Helper()
	r, err := s.Recv()
	ok(s.t, err)
	return r
}

// TestWatchStream looks at the messages of a stream with several watches.
func TestWatchStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cli, ctx := c.client(t), limited(t)
	put := func(key, value string) int64 { return get(cli.Put(ctx, key, value))(t).Header.Revision }
	first := put("/a", "1")
	s := openStream(t, ctx, cli)

	s.create(&pb.WatchCreateRequest{Key: []byte("/a")})
	r := s.next()
	equal(t, "created", r.Created, true)
	equal(t, "first id", r.WatchId, 0)
	equal(t, "created at", r.Header.Revision, first)
	s.create(&pb.WatchCreateRequest{Key: []byte("/"), RangeEnd: []byte("0"), WatchId: 7, PrevKv: true})
	equal(t, "chosen id", s.next().WatchId, 7)
	s.create(&pb.WatchCreateRequest{Key: []byte("/"), WatchId: 7})
	r = s.next()
	if !r.Created || !r.Canceled || r.WatchId != -1 || !strings.Contains(r.CancelReason, "duplicate watch ID") {
		t.Fatalf("an id twice: %v", r)
	}
	s.create(&pb.WatchCreateRequest{Key: []byte("/b"), RangeEnd: []byte("/a")})
	if r = s.next(); !r.Canceled || r.WatchId != -1 || !strings.Contains(r.CancelReason, "range is empty") {
		t.Fatalf("an empty range: %v", r)
	}
	s.create(&pb.WatchCreateRequest{Key: []byte("/a"), StartRevision: first})
	equal(t, "next id", s.next().WatchId, 1)
	r = s.next()
	equal(t, "from the history", r.WatchId, 1)
	equal(t, "event", string(r.Events[0].Kv.Value), "1")

	second := put("/a", "2")
	seen := map[int64]*pb.WatchResponse{}
	for range 3 {
		r := s.next()
		seen[r.WatchId] = r
	}
	for id := range seen {
		equal(t, "revision of the response", seen[id].Header.Revision, second)
		equal(t, "previous value was asked for", seen[id].Events[0].PrevKv != nil, id == 7)
	}
	s.cancel(0)
	if r = s.next(); !r.Canceled || r.WatchId != 0 || r.CompactRevision != 0 {
		t.Fatalf("a cancelled watch: %v", r)
	}
	s.cancel(0)
	s.cancel(4711) // both are nothing
	put("/a", "3")
	got := map[int64]bool{}
	for range 2 {
		got[s.next().WatchId] = true
	}
	if got[0] || !got[1] || !got[7] {
		t.Fatalf("events for watches %v", got)
	}

	// Progress of all watches is one message about none of them.
	put("elsewhere", "")
	now := put("elsewhere", "")
	s.progress()
	r = s.next()
	if r.WatchId != -1 || len(r.Events) != 0 || r.Header.Revision != now {
		t.Fatalf("progress: %v, want revision %d", r, now)
	}
	// While one starts in the future no revision is right for all; etcd says nothing then, nor do we.
	s.create(&pb.WatchCreateRequest{Key: []byte("/z"), StartRevision: now + 100, WatchId: 8})
	equal(t, "created", s.next().WatchId, 8)
	s.progress()
	s.cancel(8)
	equal(t, "no progress before the cancellation", s.next().WatchId, 8)

	// History that is gone.
	get(cli.Compact(ctx, now))(t)
	s.create(&pb.WatchCreateRequest{Key: []byte("/a"), StartRevision: first, WatchId: 9})
	equal(t, "created", s.next().Created, true)
	if r = s.next(); !r.Canceled || r.CompactRevision != now || r.WatchId != 9 {
		t.Fatalf("compacted: %v", r)
	}
	// The client has nothing more to ask and goes on listening.
	ok(t, s.CloseSend())
	put("/other", "")
	equal(t, "after the requests", s.next().WatchId, 7)
}

// TestWatchFragments: a revision larger than a message comes in pieces to who takes them, and whole to others.
func TestWatchFragments(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	cli, ctx := c.client(t), limited(t)
	s := openStream(t, ctx, cli)
	s.create(&pb.WatchCreateRequest{Key: []byte("/"), RangeEnd: []byte("0"), Fragment: true})
	s.create(&pb.WatchCreateRequest{Key: []byte("/"), RangeEnd: []byte("0")})
	s.next()
	s.next()
	var ops []clientv3.Op
	for i := range 12 {
		ops = append(ops, clientv3.OpPut(fmt.Sprintf("/%02d", i), strings.Repeat("x", 300<<10)))
	}
	rev := get(cli.Txn(ctx).Then(ops...).Commit())(t).Header.Revision
	var events []*mvccpb.Event
	pieces, whole := 0, 0
	for len(events) < 12 || whole == 0 {
		r := s.next()
		equal(t, "revision", r.Header.Revision, rev)
		if r.WatchId == 1 {
			whole++
			equal(t, "events at once", len(r.Events), 12)
			continue
		}
		pieces++
		events = append(events, r.Events...)
		equal(t, "more to come", r.Fragment, len(events) < 12)
	}
	if pieces < 3 {
		t.Fatalf("%d pieces", pieces)
	}
	equal(t, "last key", string(events[11].Kv.Key), "/11")
}

// TestWatchProgressNotify: an idle watch is told how far it is, one without the wish is not.
func TestWatchProgressNotify(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, func(cfg *store.Config) { cfg.ProgressInterval = 20 * time.Millisecond })
	cli, ctx := c.client(t), limited(t)
	quiet := cli.Watch(ctx, "/a")
	told := cli.Watch(ctx, "/a", clientv3.WithProgressNotify())
	rev := get(cli.Put(ctx, "elsewhere", ""))(t).Header.Revision
	for r := range told {
		ok(t, r.Err())
		equal(t, "is a notice", r.IsProgressNotify(), true)
		if r.Header.Revision == rev {
			break
		}
	}
	get(cli.Put(ctx, "/a", ""))(t)
	equal(t, "events of the quiet one", len((<-quiet).Events), 1)
}

// TestWatchBookmarks asks for progress of many watches on one stream again and again under load. A notice of revision R
// is what clients resume from, so every watch must have had everything up to R, and nothing after it.
func TestWatchBookmarks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	cli, ctx := c.client(t, c.members[1]), limited(t)
	const watches, writers, each = 12, 4, 60
	s := openStream(t, ctx, cli)
	for i := range watches {
		s.create(&pb.WatchCreateRequest{Key: fmt.Appendf(nil, "/%d/", i%6), RangeEnd: fmt.Appendf(nil, "/%d0", i%6), ProgressNotify: i%3 == 0})
	}
	for range watches {
		equal(t, "created", s.next().Created, true)
	}
	var mu sync.Mutex
	written := map[int64]int{} // revision > prefix
	var wg sync.WaitGroup
	defer wg.Wait()
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				resp, err := cli.Put(ctx, fmt.Sprintf("/%d/%d", (w+i)%6, i), "x")
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written[resp.Header.Revision] = (w + i) % 6
				mu.Unlock()
			}
		})
	}
	events := make([]map[int64]bool, watches)
	last := make([]int64, watches)
	for i := range events {
		events[i] = map[int64]bool{}
	}
	notices, total, bookmark := 0, 0, int64(0)
	s.progress()
	for total < writers*each*watches/6 {
		r := s.next()
		if r.WatchId == -1 {
			notices++
			if r.Header.Revision < bookmark {
				t.Fatalf("the notice went back from %d to %d", bookmark, r.Header.Revision)
			}
			bookmark = r.Header.Revision
			for i := range last {
				if last[i] > bookmark {
					t.Fatalf("watch %d had revision %d before the notice of %d", i, last[i], bookmark)
				}
				last[i] = bookmark
			}
			s.progress()
			continue
		}
		i := r.WatchId
		for _, e := range r.Events {
			if e.Kv.ModRevision <= last[i] {
				t.Fatalf("watch %d got revision %d after it had everything up to %d", i, e.Kv.ModRevision, last[i])
			}
			last[i] = e.Kv.ModRevision
			events[i][e.Kv.ModRevision] = true
			total++
		}
		if len(r.Events) == 0 {
			if r.Header.Revision < last[i] {
				t.Fatalf("watch %d was told of revision %d after %d", i, r.Header.Revision, last[i])
			}
			last[i] = r.Header.Revision
		}
	}
	wg.Wait()
	if notices < 10 {
		t.Fatalf("%d notices", notices)
	}
	for rev, prefix := range written {
		for i := range watches {
			if want := i%6 == prefix; events[i][rev] != want {
				t.Fatalf("watch %d of prefix %d and revision %d of prefix %d: delivered %v", i, i%6, rev, prefix, !want)
			}
		}
	}
}
