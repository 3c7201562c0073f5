package etcd

import (
	"sort"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/orrery-io/orrery/services/store/kv"
)

// progress is a client's question of how far all watches of a stream are. The answer is one message with one revision
// for all of them: everything up to it has been sent, and nothing beyond, because a client that reconnects goes on right
// after it, with every watch.
//
// The watches run each for itself, so the revision is fixed first, the newest there is; a watch that gets there may not
// go further until all have. What it brings meanwhile is cut at that revision and the rest held.
type progress struct {
	revision int64
	waiting  map[*watch]struct{} // have not proved yet that they are there
	again    bool                // asked once more meanwhile, when there may have been a newer revision
}

// askProgress begins to answer a question. Like etcd it says nothing when there is no watch, or one whose start lies
// ahead: no revision would be right for that one.
func (ws *watchStream) askProgress() error {
	if ws.progress != nil {
		ws.progress.again = true
		return nil
	}
	p := &progress{revision: ws.node.Position().Revision, waiting: map[*watch]struct{}{}}
	for _, w := range ws.watches {
		if w.after > p.revision {
			return nil
		}
		if w.sent < p.revision {
			p.waiting[w] = struct{}{}
		}
	}
	if len(ws.watches) == 0 {
		return nil
	}
	ws.progress = p
	for w := range p.waiting {
		_ = w.w.RequestProgress() // a watch that has ended says so by itself, and then counts no more
	}
	return ws.settleProgress()
}

// joinProgress takes a new watch into account: the question begins again, with it.
func (ws *watchStream) joinProgress() error {
	if ws.progress == nil {
		return nil
	}
	if err := ws.release(); err != nil {
		return err
	}
	return ws.askProgress()
}

// pass sends a response as far as a question about progress lets it.
func (ws *watchStream) pass(w *watch, resp kv.WatchResponse) error {
	p := ws.progress
	if p == nil {
		return ws.passAll(w, resp)
	}
	_, waits := p.waiting[w]
	cut := sort.Search(len(resp.Events), func(i int) bool { return resp.Events[i].KV.ModRevision > p.revision })
	if now := resp.Events[:cut]; len(now) > 0 {
		if err := ws.send(w, now, min(resp.Revision, p.revision)); err != nil {
			return err
		}
	}
	there := resp.Revision >= p.revision
	if there {
		w.sent = max(w.sent, p.revision)
		delete(p.waiting, w)
	}
	switch rest := resp.Events[cut:]; {
	case len(rest) > 0:
		w.held = &kv.WatchResponse{Revision: resp.Revision, Events: rest}
	case len(resp.Events) == 0 && !waits && w.notify && there:
		w.held = &resp
	default:
		if waits && !there && len(resp.Events) == 0 {
			// The notice was made just before the newest revision was told to the watches.
			_ = w.w.RequestProgress() // a watch that has ended says so by itself
		}
		w.goOn()
	}
	return ws.settleProgress()
}

// passAll sends a response that nothing holds up.
func (ws *watchStream) passAll(w *watch, resp kv.WatchResponse) error {
	defer w.goOn()
	if len(resp.Events) == 0 && !w.notify {
		w.sent = max(w.sent, resp.Revision) // left over from a question that was given up
		return nil
	}
	return ws.send(w, resp.Events, resp.Revision)
}

// settleProgress answers the question when every watch is there.
func (ws *watchStream) settleProgress() error {
	p := ws.progress
	if p == nil {
		return nil
	}
	for w := range p.waiting {
		if ws.watches[w.id] != w {
			delete(p.waiting, w)
		}
	}
	if len(p.waiting) > 0 {
		return nil
	}
	if len(ws.watches) > 0 {
		if err := ws.stream.Send(&pb.WatchResponse{Header: ws.header(p.revision), WatchId: invalidID}); err != nil {
			return err
		}
	}
	if err := ws.release(); err != nil || !p.again {
		return err
	}
	return ws.askProgress()
}

// release ends the question and lets the watches go on that were held.
func (ws *watchStream) release() error {
	ws.progress = nil
	for _, w := range ws.watches {
		if w.held == nil {
			continue
		}
		resp := *w.held
		w.held = nil
		if err := ws.passAll(w, resp); err != nil {
			return err
		}
	}
	return nil
}
