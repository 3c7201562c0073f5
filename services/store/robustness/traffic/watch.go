package traffic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// follower is one open watch that records what it is told.
type follower struct {
	rec     *history.Watch
	clock   history.Clock
	watcher kv.Watcher
	// reached is the newest revision up to which it has been told.
	reached atomic.Int64
	moved   chan struct{}
	done    chan struct{}
}

// follow opens a watch as rec describes it. It ends with ctx.
func follow(ctx context.Context, k kv.KV, clock history.Clock, rec *history.Watch) (*follower, error) {
	req := kv.WatchRequest{StartRevision: rec.Start, PrevKV: rec.PrevKV, NoPut: rec.NoPut, NoDelete: rec.NoDelete, ProgressNotify: true}
	if rec.Key != "" {
		req.Key = []byte(rec.Key)
	} else {
		req.Key, req.End = []byte(rec.Prefix), kv.PrefixEnd([]byte(rec.Prefix))
	}
	open, cancel := context.WithTimeout(ctx, 2*callTimeout)
	defer cancel()
	w, err := k.Watch(open, req)
	if err != nil {
		return nil, err
	}
	f := &follower{rec: rec, clock: clock, watcher: w, moved: make(chan struct{}, 1), done: make(chan struct{})}
	go f.run(ctx)
	return f, nil
}

func (f *follower) run(ctx context.Context) {
	defer close(f.done)
	for {
		resp, err := f.watcher.Next(ctx)
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, kv.ErrClosed) {
				f.rec.Ended, f.rec.Expired = err.Error(), errors.Is(err, kv.ErrCompacted)
			}
			return
		}
		f.rec.Responses = append(f.rec.Responses, history.Response{At: f.clock.Now(), Revision: resp.Revision, Events: events(resp.Events)})
		f.reached.Store(resp.Revision)
		select {
		case f.moved <- struct{}{}:
		default:
		}
	}
}

// catchUp waits until the watch says that it has told of everything up to rev, asking it now and then.
func (f *follower) catchUp(ctx context.Context, rev int64) {
	defer f.watcher.Close()
	ask := time.NewTicker(250 * time.Millisecond)
	defer ask.Stop()
	for f.reached.Load() < rev {
		select {
		case <-f.moved:
		case <-f.done:
			return
		case <-ask.C:
			_ = f.watcher.RequestProgress()
		case <-ctx.Done():
			f.rec.Stalled = fmt.Sprintf("it had not told of revision %d long after everything was well again; it stood at %d", rev, f.reached.Load())
			return
		}
	}
	f.watcher.Close()
	<-f.done
}

// interrupted opens a watch, follows it for a moment, and goes on with another one from where it stopped, until done is
// closed. It returns the last one, which is still open.
func interrupted(ctx context.Context, done <-chan struct{}, k kv.KV, clock history.Clock, rec *history.Recorder, first history.Watch, rng *rand.Rand) *follower {
	next := first
	for n := 0; ; n++ {
		w := next
		w.Name = fmt.Sprintf("%s-%d", first.Name, n)
		w.Resumed = n > 0
		f, err := follow(ctx, k, clock, &w)
		if errors.Is(err, kv.ErrCompacted) {
			// Its history is gone, as it may be: it goes on from now, as after a list.
			w.Start, w.Ended, w.Expired = next.Start, err.Error(), true
			rec.Watch(&w)
			if next.Start, err = k.Revision(ctx); err == nil {
				next.Start++
			}
			if !wait(ctx, done, rng) {
				return nil
			}
			continue
		}
		if err != nil {
			if !wait(ctx, done, rng) {
				return nil
			}
			continue
		}
		rec.Watch(&w)
		t := time.NewTimer(time.Duration(200+rng.IntN(800)) * time.Millisecond)
		select {
		case <-done:
			t.Stop()
			return f
		case <-f.done:
			t.Stop()
		case <-t.C:
			f.watcher.Close()
			<-f.done
		}
		if reached := f.reached.Load(); reached >= next.Start {
			next.Start = reached + 1
		}
	}
}

func events(in []kv.Event) []history.Event {
	out := make([]history.Event, 0, len(in))
	for i := range in {
		e := history.Event{Rev: in[i].KV.ModRevision, Key: string(in[i].KV.Key), Deleted: in[i].Type == kv.EventDelete, KV: version(&in[i].KV)}
		if p := in[i].PrevKV; p != nil {
			v := version(p)
			e.Prev = &v
		}
		out = append(out, e)
	}
	return out
}
