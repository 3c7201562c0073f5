package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/orrery-io/orrery/services/store/kv"
	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// Clients are the connections that a run has to the store.
type Clients struct {
	// Balanced know all members, Pinned one each.
	Balanced []kv.KV
	Pinned   []Pinned
}

// Pinned is a client of one member.
type Pinned struct {
	Member string
	kv.KV
}

// Round is the traffic of one round.
type Round struct {
	record  *history.Round
	rec     *history.Recorder
	clients *Clients
	clock   history.Clock

	stop    context.CancelFunc
	done    chan struct{}
	workers sync.WaitGroup

	mu        sync.Mutex
	followers []*follower
}

// Prefix of the keys of a round.
func Prefix(round int) string { return fmt.Sprintf("%sr%05d/", history.Root, round) }

// Start begins a round: it looks at what there is, opens the watches and sets the clients going.
func Start(ctx context.Context, record *history.Round, clients *Clients, clock history.Clock, rng *rand.Rand) (*Round, error) {
	r := &Round{record: record, rec: history.NewRecorder(record), clients: clients, clock: clock, done: make(chan struct{})}
	key := []byte(history.Root)
	before, err := clients.Balanced[0].Range(ctx, kv.RangeRequest{Key: key, End: kv.PrefixEnd(key)})
	if err != nil {
		return nil, fmt.Errorf("listing what there is before the round: %w", err)
	}
	record.Base, record.State = before.Revision, map[string]history.KV{}
	for _, v := range Versions(before.KVs) {
		record.State[v.Key] = v
	}
	// The round's goroutines end by done; the context is for what does not answer.
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	r.stop = stop
	if err := r.watches(live, rng); err != nil {
		r.Abort()
		return nil, err
	}
	r.work(live, rng)
	return r, nil
}

// watches opens those that see everything, one on each member and one that may move, and some that see a part.
func (r *Round) watches(ctx context.Context, rng *rand.Rand) error {
	open := func(k kv.KV, w history.Watch) error {
		w.Start = r.record.Base + 1
		f, err := follow(ctx, k, r.clock, &w)
		if err != nil {
			return fmt.Errorf("opening watch %s: %w", w.Name, err)
		}
		r.rec.Watch(&w)
		r.followers = append(r.followers, f)
		return nil
	}
	prefix := Prefix(r.record.Number)
	keys := objects(r.record.Number)
	var err error
	add := func(k kv.KV, w history.Watch) {
		if err == nil {
			err = open(k, w)
		}
	}
	for _, p := range r.clients.Pinned {
		add(p, history.Watch{Name: "all-of-" + p.Member, Prefix: history.Root, PrevKV: true})
	}
	pick := func() kv.KV { return r.clients.Balanced[rng.IntN(len(r.clients.Balanced))] }
	add(pick(), history.Watch{Name: "all", Prefix: history.Root, PrevKV: true})
	add(pick(), history.Watch{Name: "puts", Prefix: prefix + "pods/", NoDelete: true})
	add(pick(), history.Watch{Name: "deletes", Prefix: prefix, NoPut: true, PrevKV: true})
	add(pick(), history.Watch{Name: "one", Key: keys[rng.IntN(len(keys))], PrevKV: true})
	return err
}

// work starts the clients.
func (r *Round) work(ctx context.Context, rng *rand.Rand) {
	keys, prefix := objects(r.record.Number), Prefix(r.record.Number)
	seed := func() *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) }
	name := func(what string) string { return fmt.Sprintf("r%d-%s", r.record.Number, what) }
	client := func(what string, k kv.KV) *Client { return NewClient(name(what), k, r.clock, r.rec) }
	for i, k := range r.clients.Balanced {
		for j := range 2 {
			w := newWriter(client(fmt.Sprintf("w%d%d", i, j), k), keys, seed())
			r.workers.Go(func() { w.run(ctx, r.done) })
		}
		rd := &reader{c: client(fmt.Sprintf("r%d", i), k), rand: seed(), keys: keys, prefix: prefix}
		r.workers.Go(func() { rd.run(ctx, r.done) })
		h := &heartbeats{c: client(fmt.Sprintf("h%d", i), k), rand: seed(), prefix: prefix}
		r.workers.Go(func() { h.run(ctx, r.done) })
		r.interrupt(ctx, k, fmt.Sprintf("resumed-%d", i), i%2 == 0, seed())
	}
	for _, p := range r.clients.Pinned {
		w := newWriter(client("w-"+p.Member, p), keys, seed())
		r.workers.Go(func() { w.run(ctx, r.done) })
		rd := &reader{c: client("r-"+p.Member, p), rand: seed(), keys: keys, prefix: prefix}
		r.workers.Go(func() { rd.run(ctx, r.done) })
		r.interrupt(ctx, p, "resumed-on-"+p.Member, true, seed())
	}
	p := r.clients.Pinned[rng.IntN(len(r.clients.Pinned))]
	h := &heartbeats{c: client("h-"+p.Member, p), rand: seed(), prefix: prefix}
	r.workers.Go(func() { h.run(ctx, r.done) })
}

func (r *Round) interrupt(ctx context.Context, k kv.KV, name string, prev bool, rng *rand.Rand) {
	first := history.Watch{Name: name, Prefix: Prefix(r.record.Number), Start: r.record.Base + 1, PrevKV: prev}
	r.workers.Go(func() {
		if f := interrupted(ctx, r.done, k, r.clock, r.rec, first, rng); f != nil {
			r.mu.Lock()
			r.followers = append(r.followers, f)
			r.mu.Unlock()
		}
	})
}

// Delivered is the revision that every watch over the whole key space has been told of: history before it can be compacted
// without the record losing anything.
func (r *Round) Delivered() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := int64(-1)
	for _, f := range r.followers {
		if at := f.reached.Load(); f.rec.Whole() && (least < 0 || at < least) {
			least = at
		}
	}
	return least
}

// Abort ends the round at once.
func (r *Round) Abort() {
	close(r.done)
	r.stop()
	r.workers.Wait()
	for _, f := range r.followers {
		f.watcher.Close()
		<-f.done
	}
}

// Finish ends the traffic, has the leases revoked so that nothing changes any more, and reads the final state by every
// client. ctx bounds it: by then every member must answer and every watch must have told of everything.
func (r *Round) Finish(ctx context.Context) error {
	defer r.stop()
	close(r.done)
	r.workers.Wait()
	first := r.clients.Balanced[0]
	for _, l := range r.record.Leases {
		if l.Revoked == 0 {
			l.Revoked = r.clock.Now()
		}
		if err := revoke(ctx, first, l.ID); err != nil {
			return fmt.Errorf("revoking lease %d after everything was well again: %w", l.ID, err)
		}
	}
	last, err := first.Revision(ctx)
	if err != nil {
		return fmt.Errorf("reading the final revision after everything was well again: %w", err)
	}
	r.record.Final = last
	var g errgroup.Group
	read := func(name string, k kv.KV, serializable bool) {
		g.Go(func() error {
			c := NewClient(fmt.Sprintf("r%d-final-%s", r.record.Number, name), k, r.clock, r.rec)
			o := &history.Op{Kind: history.List, Prefix: history.Root}
			if err := c.list(ctx, o); err != nil {
				return fmt.Errorf("the final list by %s, after everything was well again: %w", c.Name, err)
			}
			if !serializable {
				return nil
			}
			own := &history.Op{Kind: history.List, Prefix: history.Root, Serializable: true, Revision: last}
			if err := c.list(ctx, own); err != nil {
				return fmt.Errorf("the final list of what %s has: %w", c.Name, err)
			}
			return nil
		})
	}
	for i, k := range r.clients.Balanced {
		read(fmt.Sprintf("b%d", i), k, false)
	}
	for _, p := range r.clients.Pinned {
		read(p.Member, p, true)
	}
	for _, f := range r.followers {
		g.Go(func() error { f.catchUp(ctx, last); return nil })
	}
	return g.Wait()
}
