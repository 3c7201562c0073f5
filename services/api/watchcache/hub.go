package watchcache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/orrery-io/orrery/services/api/object"
	"github.com/orrery-io/orrery/services/api/storage"
	"github.com/orrery-io/orrery/services/store/kv"
)

// Type is one stored resource type.
type Type struct {
	Resource schema.GroupResource
	// Prefix is where its objects live, with a slash at the end: "/registry/pods/".
	Prefix     string
	Namespaced bool
	Codec      *storage.Codec
	// IndexValue reads the value that exact index filters ask for; nil means that the type has no index.
	IndexValue func(object.Object) string
}

// Options of a Hub; the zero value works.
type Options struct {
	Clock clock.WithTicker
	Log   *slog.Logger
	// WindowMin and WindowMax bound how many events each type's window keeps: it grows while its oldest event is
	// younger than WindowAge. Defaults 256, 131072 and 75 seconds.
	WindowMin, WindowMax int
	WindowAge            time.Duration
	// Rewind is how many revisions before the newest a starting Hub begins, so that watchers of its predecessor can resume.
	// Negative means none; 0 is the default, 4096.
	Rewind int64
	// BookmarkEvery is the time between a watcher's bookmarks; default one minute.
	BookmarkEvery time.Duration
	// Handover, when not nil, is that of the Store through which this process writes: its objects need not be decoded.
	Handover *storage.Handover
	// PendingMax is how many events a keeping-up watcher may leave unread before it is parked; default 128.
	PendingMax int
}

func (o *Options) fill() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.WindowMin <= 0 {
		o.WindowMin = 256
	}
	if o.WindowMax < o.WindowMin {
		o.WindowMax = max(o.WindowMin, 1<<17)
	}
	if o.WindowAge <= 0 {
		o.WindowAge = 75 * time.Second
	}
	if o.Rewind == 0 {
		o.Rewind = 4096
	}
	if o.BookmarkEvery <= 0 {
		o.BookmarkEvery = time.Minute
	}
	if o.PendingMax <= 0 {
		o.PendingMax = 128
	}
}

// Hub is the one watch on the store and the caches that it feeds. Run it for the caches to work.
type Hub struct {
	kv     kv.KV
	opts   Options
	caches map[string]*Cache // by prefix; fixed

	// revision is up to where every cache is complete.
	revision atomic.Int64
	advanced broadcast
	ready    chan struct{}
	stopped  chan struct{}

	// stream is the open store watch; asked says that a progress notice is on its way.
	stream atomic.Pointer[kv.Watcher]
	asked  atomic.Bool

	newest revisionReader
}

// NewHub makes a Hub with a cache for each type.
func NewHub(client kv.KV, types []Type, opts Options) *Hub {
	opts.fill()
	h := &Hub{kv: client, opts: opts, caches: make(map[string]*Cache, len(types)), ready: make(chan struct{}), stopped: make(chan struct{})}
	h.newest.kv = client
	for _, t := range types {
		h.caches[t.Prefix] = newCache(h, t)
	}
	return h
}

// Cache is the cache of the type that lives under prefix, nil when there is none.
func (h *Hub) Cache(prefix string) *Cache { return h.caches[prefix] }

// Ready is closed once all caches have been filled.
func (h *Hub) Ready() <-chan struct{} { return h.ready }

// Revision is the newest revision that all caches reflect.
func (h *Hub) Revision() int64 { return h.revision.Load() }

// Run keeps the caches up to date until ctx ends; then every open watch ends, with a last bookmark where it takes them. It may be called once.
func (h *Hub) Run(ctx context.Context) error {
	defer h.newest.wait()
	defer close(h.stopped)
	if o := h.opts.Handover; o != nil {
		o.Start()
		defer o.Stop()
	}
	const slowest = 500 * time.Millisecond // readers wait three seconds for what they miss
	backoff := 20 * time.Millisecond
	filled := false
	for {
		before := h.revision.Load()
		err := h.follow(ctx, &filled)
		if ctx.Err() != nil {
			return nil
		}
		if h.revision.Load() != before {
			backoff = 20 * time.Millisecond
		}
		h.opts.Log.Warn("the watch on the store ended and is opened again", "revision", h.revision.Load(), "in", backoff, "error", err)
		timer := h.opts.Clock.NewTimer(backoff + rand.N(backoff))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
		backoff = min(2*backoff, slowest)
	}
}

// follow fills the caches if need be and then applies the store's events until the watch ends.
func (h *Hub) follow(ctx context.Context, filled *bool) error {
	if *filled {
		// A store that was restored from a backup may be behind what the caches have seen: nothing they hold can be trusted.
		if rev, err := h.kv.Revision(ctx); err != nil {
			return fmt.Errorf("reading the store's revision: %w", err)
		} else if rev < h.revision.Load() {
			h.opts.Log.Error("the store is at an older revision than before: all objects are read again and all watches end", "was", h.revision.Load(), "is", rev)
			*filled = false
		}
	}
	if !*filled {
		if err := h.fill(ctx); err != nil {
			return err
		}
		*filled = true
	}
	w, err := h.kv.Watch(ctx, kv.WatchRequest{
		Key: []byte(storage.Root), End: kv.PrefixEnd([]byte(storage.Root)),
		StartRevision: h.revision.Load() + 1, ProgressNotify: true,
	})
	if errors.Is(err, kv.ErrCompacted) {
		// The history between is gone, so watchers cannot be told what happened.
		*filled = false
		return h.lost(err)
	}
	if err != nil {
		return fmt.Errorf("opening the watch: %w", err)
	}
	defer w.Close()
	h.asked.Store(false)
	h.stream.Store(&w)
	defer h.stream.Store(nil)
	// Readers that already wait need to know where the store is.
	h.requestProgress()
	for {
		resp, err := w.Next(ctx)
		if err != nil {
			// An expired watch resumes where it was if the store still can; ErrCompacted above tells when it cannot.
			return err
		}
		h.asked.Store(false)
		h.apply(resp)
	}
}

func (h *Hub) lost(err error) error {
	return fmt.Errorf("revision %d cannot be followed any more, all objects are read again and all watches end: %w", h.revision.Load(), err)
}

// find is the cache that a key belongs to: that of its first folder below the root, or of its first two (a custom resource's group and
// plural); nil when the key is of no known type.
func (h *Hub) find(key []byte) *Cache {
	rest := key[min(len(key), len(storage.Root)):]
	first := bytes.IndexByte(rest, '/')
	if first < 0 {
		return nil
	}
	if c := h.caches[string(key[:len(storage.Root)+first+1])]; c != nil {
		return c
	}
	second := bytes.IndexByte(rest[first+1:], '/')
	if second < 0 {
		return nil
	}
	return h.caches[string(key[:len(storage.Root)+first+second+2])]
}

// apply brings a response into the caches, tells the watchers, and then publishes the revision.
func (h *Hub) apply(resp kv.WatchResponse) {
	revision := resp.Revision
	if n := len(resp.Events); n > 0 {
		revision = resp.Events[n-1].KV.ModRevision
		var touched []*Cache
		for i := range resp.Events {
			c := h.find(resp.Events[i].KV.Key)
			if c == nil {
				continue
			}
			if len(c.incoming) == 0 {
				touched = append(touched, c)
			}
			c.receive(&resp.Events[i])
		}
		now := h.opts.Clock.Now()
		for _, c := range touched {
			c.apply(now)
		}
	}
	h.publish(revision)
}

// publish makes revision visible to readers.
func (h *Hub) publish(revision int64) {
	if revision > h.revision.Load() {
		h.revision.Store(revision)
	}
	h.advanced.signal()
}
