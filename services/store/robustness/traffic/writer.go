package traffic

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/orrery-io/orrery/services/store/robustness/history"
)

// pace is how long a client waits between two calls, on average.
const pace = 25 * time.Millisecond

// keysPerRound is how many objects the writers of a round fight over.
const keysPerRound = 12

// objects are the keys of a round: its own, so that each round's history begins from nothing.
func objects(round int) []string {
	var out []string
	for i := range keysPerRound {
		kind := "pods"
		if i%3 == 2 {
			kind = "services"
		}
		out = append(out, fmt.Sprintf("%sr%05d/%s/default/o%02d", history.Root, round, kind, i))
	}
	return out
}

// writer changes objects at random until ctx ends, now and then with a stale idea of them.
type writer struct {
	c    *Client
	rand *rand.Rand
	keys []string
	// known are the mod revisions that it believes in.
	known map[string]int64
	n     int
}

func newWriter(c *Client, keys []string, rng *rand.Rand) *writer {
	return &writer{c: c, rand: rng, keys: keys, known: map[string]int64{}}
}

// run works until done is closed; calls under way are finished.
func (w *writer) run(ctx context.Context, done <-chan struct{}) {
	for wait(ctx, done, w.rand) {
		key := w.keys[w.rand.IntN(len(w.keys))]
		switch p := w.rand.IntN(100); {
		case p < 6: // two objects at once
			other := w.keys[w.rand.IntN(len(w.keys))]
			if other == key {
				continue
			}
			o := &history.Op{Kind: history.Put, Keys: []string{key, other}, Value: w.value(), HasPrev: w.rand.IntN(2) == 0}
			if w.c.put(ctx, o) == nil {
				w.known[key], w.known[other] = o.Header, o.Header
			}
		case p < 12:
			o := &history.Op{Kind: history.Put, Keys: []string{key}, Value: w.value()}
			if w.c.put(ctx, o) == nil {
				w.known[key] = o.Header
			}
		case p < 20 && w.known[key] != 0:
			w.change(ctx, &history.Op{Kind: history.Delete, Keys: []string{key}, Expect: w.known[key]})
		case w.known[key] == 0:
			w.change(ctx, &history.Op{Kind: history.Create, Keys: []string{key}, Value: w.value()})
		default:
			w.change(ctx, &history.Op{Kind: history.Update, Keys: []string{key}, Value: w.value(), Expect: w.known[key]})
		}
	}
}

// change makes a conditional write and remembers what it learned.
func (w *writer) change(ctx context.Context, o *history.Op) {
	o.HasPrev = w.rand.IntN(3) == 0
	if w.c.write(ctx, o) != nil {
		return
	}
	key := o.Keys[0]
	switch {
	case o.Succeeded && o.Kind == history.Delete:
		w.known[key] = 0
	case o.Succeeded:
		w.known[key] = o.Header
	case len(o.Read) == 1:
		w.known[key] = o.Read[0].Mod
	default:
		w.known[key] = 0
	}
}

func (w *writer) value() string {
	w.n++
	return fmt.Sprintf("%s-%d", w.c.Name, w.n)
}

// wait pauses between two calls; false means that it is time to stop.
func wait(ctx context.Context, done <-chan struct{}, rng *rand.Rand) bool {
	t := time.NewTimer(pace/2 + time.Duration(rng.Int64N(int64(pace))))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-done:
	case <-ctx.Done():
	}
	return false
}
