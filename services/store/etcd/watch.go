package etcd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/orrery-io/orrery/services/store/kv"
)

const (
	// invalidID marks an answer that is about no watch: one that could not be created, or progress of all of them.
	invalidID = -1
	// fragment is the size around which a response is cut for a watch that takes fragments.
	fragment = 1 << 20
	// leaderlessLimit is how many looks in a row, one every leaderlessPause, find no leader before a client that
	// requires one is let go.
	leaderlessPause = time.Second
	leaderlessLimit = 3
)

// watches implements etcd's Watch service.
//
// One goroutine, the handler's, owns a stream: the watches on it, what is sent and in which order. Around it are one
// goroutine that reads requests and opens the watches they ask for, and one for each watch (the pump) that takes
// responses from the store and hands them over one at a time. While the client does not read, the handler is stuck in
// Send, the pumps wait, and the store parks the watches: nothing is queued here.
type watches struct {
	pb.UnimplementedWatchServer
	*Server
}

// watchStream is what the handler owns.
type watchStream struct {
	*Server
	stream   grpc.BidiStreamingServer[pb.WatchRequest, pb.WatchResponse]
	ctx      context.Context
	watches  map[int64]*watch
	nextID   int64
	items    chan item
	pumps    sync.WaitGroup
	progress *progress // the question about all watches that waits for its answer
}

// watch is one watch of a stream.
type watch struct {
	id int64
	w  kv.Watcher
	// after is the revision before the first one it delivers; sent is that up to which everything was sent.
	after, sent      int64
	notify, fragment bool
	next             chan struct{}     // lets its pump go on
	held             *kv.WatchResponse // waits for the end of a question about progress
}

// item is what a pump hands over.
type item struct {
	w    *watch
	resp kv.WatchResponse
	err  error
}

// asked is a request with the watch that was opened for it, if it asks for one.
type asked struct {
	req *pb.WatchRequest
	w   kv.Watcher
	err error
}

// Watch implements etcd's Watch service.
func (s watches) Watch(stream grpc.BidiStreamingServer[pb.WatchRequest, pb.WatchResponse]) error {
	ctx, cancel := context.WithCancel(stream.Context())
	ws := &watchStream{Server: s.Server, stream: stream, ctx: ctx, watches: map[int64]*watch{}, items: make(chan item)}
	defer ws.pumps.Wait()
	defer cancel()
	defer func() {
		for _, w := range ws.watches {
			w.w.Close()
		}
	}()
	requests := receive(ctx, ws.next, func(a *asked) {
		if a.w != nil {
			a.w.Close()
		}
	})
	var ticks <-chan time.Time
	if requiresLeader(ctx) {
		ticker := s.cfg.Clock.NewTicker(leaderlessPause)
		defer ticker.Stop()
		ticks = ticker.C()
	}
	leaderless := 0
	for {
		var err error
		select {
		case <-ctx.Done():
			return toStatus(ctx.Err())
		case <-s.stopped:
			return rpctypes.ErrGRPCStopped
		case <-ticks:
			if leaderless++; s.node.Leader() != "" {
				leaderless = 0
			} else if leaderless >= leaderlessLimit {
				return rpctypes.ErrGRPCNoLeader
			}
		case r := <-requests:
			switch {
			case r.err == nil:
				err = ws.handle(r.msg)
			case errors.Is(r.err, io.EOF):
				requests = nil // the client has no more to ask and may go on listening
			default:
				return r.err
			}
		case it := <-ws.items:
			err = ws.deliver(it)
		}
		if err != nil {
			return err
		}
	}
}

// next receives a request and opens the watch that it asks for, since that may take a while.
func (ws *watchStream) next() (*asked, error) {
	m, err := ws.stream.Recv()
	if err != nil {
		return nil, err
	}
	a := &asked{req: m}
	c := m.GetCreateRequest()
	if c == nil {
		return a, nil
	}
	if len(c.Key) == 0 {
		c.Key = []byte{0} // from the smallest key on
	}
	if unbounded := len(c.RangeEnd) == 1 && c.RangeEnd[0] == 0; len(c.RangeEnd) > 0 && !unbounded && bytes.Compare(c.Key, c.RangeEnd) >= 0 {
		a.err = errEmptyRange
		return a, nil
	}
	req := kv.WatchRequest{Key: c.Key, End: c.RangeEnd, StartRevision: c.StartRevision, PrevKV: c.PrevKv, ProgressNotify: c.ProgressNotify}
	for _, f := range c.Filters {
		req.NoPut = req.NoPut || f == pb.WatchCreateRequest_NOPUT
		req.NoDelete = req.NoDelete || f == pb.WatchCreateRequest_NODELETE
	}
	if w, err := ws.node.Watch(ws.ctx, req); err == nil {
		a.w = w
	} else {
		a.err = err
	}
	return a, nil
}

// Reasons of cancellation that clients see, in etcd's words.
var (
	errEmptyRange  = errors.New("mvcc: watcher range is empty")
	errDuplicateID = errors.New("mvcc: duplicate watch ID provided on the WatchStream")
)

func (ws *watchStream) handle(a *asked) error {
	switch r := a.req.GetRequestUnion().(type) {
	case *pb.WatchRequest_CreateRequest:
		return ws.create(r.CreateRequest, a)
	case *pb.WatchRequest_CancelRequest:
		return ws.cancel(r.CancelRequest.GetWatchId())
	case *pb.WatchRequest_ProgressRequest:
		return ws.askProgress()
	}
	return nil // of a later version: etcd ignores it too
}

func (ws *watchStream) create(c *pb.WatchCreateRequest, a *asked) error {
	id := c.WatchId
	if a.err == nil && id != 0 && ws.watches[id] != nil {
		a.w.Close()
		a.err = errDuplicateID
	}
	created := &pb.WatchResponse{Header: ws.header(0), Created: true}
	switch {
	case a.err == nil, errors.Is(a.err, kv.ErrCompacted):
	case errors.Is(a.err, errEmptyRange), errors.Is(a.err, errDuplicateID), errors.Is(a.err, kv.ErrInvalid):
		created.WatchId, created.Canceled, created.CancelReason = invalidID, true, a.err.Error()
		return ws.stream.Send(created)
	case errors.Is(a.err, kv.ErrNoLeader) && !requiresLeader(ws.ctx):
		// Clients give up on "no leader", as those who require one want; others are to try again.
		return rpctypes.ErrGRPCTimeoutDueToLeaderFail
	default:
		return toStatus(a.err)
	}
	if id == 0 {
		for id = ws.nextID; ws.watches[id] != nil; id++ {
		}
		ws.nextID = id + 1
	}
	created.WatchId = id
	if a.err != nil {
		if err := ws.stream.Send(created); err != nil {
			return err
		}
		return ws.stream.Send(ws.compacted(id))
	}
	w := &watch{id: id, w: a.w, notify: c.ProgressNotify, fragment: c.Fragment, next: make(chan struct{}, 1)}
	w.after = max(c.StartRevision-1, 0)
	if at, ok := a.w.(interface{ StartsAfter() int64 }); ok {
		w.after = at.StartsAfter()
	}
	w.sent = min(w.after, created.Header.Revision)
	if c.StartRevision == 0 {
		// The client goes on from here when the connection breaks before the first event.
		created.Header.Revision = w.after
	}
	if err := ws.stream.Send(created); err != nil {
		return err
	}
	ws.watches[id] = w
	ws.pumps.Go(func() { ws.pump(w) })
	return ws.joinProgress()
}

// pump hands over what the watch has, one response at a time.
func (ws *watchStream) pump(w *watch) {
	for {
		resp, err := w.w.Next(ws.ctx)
		select {
		case ws.items <- item{w, resp, err}:
		case <-ws.ctx.Done():
			return
		}
		if err != nil {
			return
		}
		select {
		case <-w.next:
		case <-ws.ctx.Done():
			return
		}
	}
}

func (ws *watchStream) cancel(id int64) error {
	w := ws.watches[id]
	if w == nil {
		return nil
	}
	ws.drop(w)
	if err := ws.stream.Send(&pb.WatchResponse{Header: ws.header(0), WatchId: id, Canceled: true}); err != nil {
		return err
	}
	return ws.settleProgress()
}

// drop ends a watch and its pump.
func (ws *watchStream) drop(w *watch) {
	delete(ws.watches, w.id)
	w.w.Close()
	w.goOn()
}

// goOn lets the pump of the watch go on, if it waits.
func (w *watch) goOn() {
	select {
	case w.next <- struct{}{}:
	default: // it was told already
	}
}

// deliver passes on what a pump brought.
func (ws *watchStream) deliver(it item) error {
	w := it.w
	switch {
	case ws.watches[w.id] != w:
		return nil // canceled meanwhile
	case it.err == nil:
		return ws.pass(w, it.resp)
	case errors.Is(it.err, kv.ErrCompacted):
		delete(ws.watches, w.id)
		w.w.Close()
		if err := ws.stream.Send(ws.compacted(w.id)); err != nil {
			return err
		}
		return ws.settleProgress()
	}
	return toStatus(it.err) // the member stops: the client goes on elsewhere
}

// compacted tells a client that the history which its watch needs is gone.
func (ws *watchStream) compacted(id int64) *pb.WatchResponse {
	return &pb.WatchResponse{Header: ws.header(0), WatchId: id, Canceled: true, CompactRevision: max(ws.node.Position().CompactRevision, 1)}
}

// send sends the events of a response, or a notice of progress when there are none. Everything up to revision has been
// sent then.
func (ws *watchStream) send(w *watch, events []kv.Event, revision int64) error {
	w.sent = max(w.sent, revision)
	for first := true; first || len(events) > 0; first = false {
		n := len(events)
		if w.fragment {
			size := 0
			for n = 0; n < len(events) && size < fragment; n++ {
				size += sizeOfEvent(&events[n])
			}
		}
		out := &pb.WatchResponse{Header: ws.header(revision), WatchId: w.id, Events: fromEvents(events[:n]), Fragment: n < len(events)}
		if err := ws.stream.Send(out); err != nil {
			return err
		}
		events = events[n:]
	}
	return nil
}

func requiresLeader(ctx context.Context) bool {
	md, _ := metadata.FromIncomingContext(ctx)
	v := md.Get(rpctypes.MetadataRequireLeaderKey)
	return len(v) > 0 && v[0] == rpctypes.MetadataHasLeader
}
