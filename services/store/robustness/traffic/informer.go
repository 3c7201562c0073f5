package traffic

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// Informer keeps a copy of the key space as a cache does: it lists, watches from the list's revision, and lists again when
// its watch expires. It lives as long as the run.
type Informer struct {
	kv     kv.KV
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// state and revision are the copy, watcher the open watch.
	state    map[string]history.KV
	revision int64
	watcher  kv.Watcher
	// lists counts how often it had to begin anew. broken is what it cannot go on from.
	lists  int
	broken error
	moved  chan struct{}
}

// NewInformer starts an informer.
func NewInformer(k kv.KV) *Informer {
	ctx, cancel := context.WithCancel(context.Background())
	f := &Informer{kv: k, cancel: cancel, done: make(chan struct{}), moved: make(chan struct{}, 1), state: map[string]history.KV{}}
	go f.run(ctx)
	return f
}

// Close ends it.
func (f *Informer) Close() {
	f.cancel()
	<-f.done
}

func (f *Informer) run(ctx context.Context) {
	defer close(f.done)
	for ctx.Err() == nil {
		err := f.listAndWatch(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, kv.ErrCompacted) {
			continue
		}
		select { // as a reflector backs off
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (f *Informer) listAndWatch(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	key, end := []byte(history.Root), kv.PrefixEnd([]byte(history.Root))
	list, err := f.kv.Range(call, kv.RangeRequest{Key: key, End: end})
	if err != nil {
		return err
	}
	state := make(map[string]history.KV, len(list.KVs))
	for i := range list.KVs {
		v := version(&list.KVs[i])
		state[v.Key] = v
	}
	w, err := f.kv.Watch(call, kv.WatchRequest{Key: key, End: end, StartRevision: list.Revision + 1, ProgressNotify: true})
	if err != nil {
		return err
	}
	defer w.Close()
	f.mu.Lock()
	if list.Revision < f.revision {
		f.broken = fmt.Errorf("a list is of revision %d, after the watch had told of %d", list.Revision, f.revision)
	}
	f.state, f.revision, f.watcher = state, list.Revision, w
	f.lists++
	f.mu.Unlock()
	for {
		resp, err := w.Next(ctx)
		if err != nil {
			return err
		}
		f.apply(&resp)
	}
}

func (f *Informer) apply(resp *kv.WatchResponse) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range resp.Events {
		v := version(&resp.Events[i].KV)
		if resp.Events[i].Type == kv.EventDelete {
			delete(f.state, v.Key)
		} else {
			f.state[v.Key] = v
		}
	}
	f.revision = resp.Revision
	select {
	case f.moved <- struct{}{}:
	default:
	}
}

// ErrAhead is what Compare says when the informer knows of something newer: compare it with that.
var ErrAhead = errors.New("the informer has been told of a newer revision")

// Compare waits until the informer has caught up with rev and says how its copy differs from want, the state at rev.
func (f *Informer) Compare(ctx context.Context, rev int64, want []history.KV) error {
	ask := time.NewTicker(250 * time.Millisecond)
	defer ask.Stop()
	for {
		f.mu.Lock()
		at, w := f.revision, f.watcher
		f.mu.Unlock()
		if at >= rev {
			break
		}
		select {
		case <-f.moved:
		case <-ask.C:
			if w != nil {
				_ = w.RequestProgress()
			}
		case <-ctx.Done():
			return fmt.Errorf("the informer stands at revision %d and should have reached %d long ago", at, rev)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.broken != nil:
		return f.broken
	case f.revision > rev:
		return fmt.Errorf("%w: %d, not %d", ErrAhead, f.revision, rev)
	case len(want) != len(f.state):
		return fmt.Errorf("the informer holds %d keys at revision %d, a list shows %d", len(f.state), rev, len(want))
	}
	for _, v := range want {
		if got := f.state[v.Key]; got != v {
			return fmt.Errorf("the informer holds %+v at revision %d, a list shows %+v", got, rev, v)
		}
	}
	return nil
}

// Lists is how often it had to list.
func (f *Informer) Lists() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lists
}
